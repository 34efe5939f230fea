// Package ports declares what screens and commands need of the adapters: one small interface for each need, so that
// code which looks cannot execute, and ui, cli and broker mean the same by a method. It has no implementations: broker,
// mgmt, journal and export implement the interfaces without knowing this package, and main.go connects them. It also
// declares how a command asks for the dashboard, a form or a frame of it, as neither cli nor ui knows the other.
package ports
