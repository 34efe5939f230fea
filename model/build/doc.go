// Package build writes topologies, tables and messages in tests of the model's rooms. No program imports it.
package build
