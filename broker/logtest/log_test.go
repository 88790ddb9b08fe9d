package logtest

import (
	"testing"

	"assent/broker"
)

func TestLog(t *testing.T) {
	Run(t, func(*testing.T) broker.Log { return New() })
}
