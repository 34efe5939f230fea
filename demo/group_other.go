//go:build !unix

package demo

import (
	"errors"
	"syscall"
)

// Process groups keep a node from outliving its parent; without them there is no demo node.
var errNoGroups = errors.New("throwaway RabbitMQ nodes need a Unix system")

func ownGroup() *syscall.SysProcAttr     { return nil }
func joinGroup(int) *syscall.SysProcAttr { return nil }
func terminate(int) error                { return errNoGroups }
func killGroup(int) error                { return errNoGroups }
