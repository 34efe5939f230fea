// Package ports says what screens and commands need of the adapters: one small interface for each need, so that who
// looks cannot execute, and ui, cli and broker mean the same by a method. No type here has a method that does anything:
// broker, mgmt, journal and export implement them without knowing this package, main.go puts them together. How a
// command asks for the dashboard, a form or a frame of it is here, too, as neither cli nor ui knows the other.
package ports
