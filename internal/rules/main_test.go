package rules_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets all tests see the repository from its root.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
