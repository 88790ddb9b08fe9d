package stream

import (
	"testing"

	"assent/broker"
	"assent/broker/logtest"
)

func TestLogContract(t *testing.T) {
	logtest.Run(t, func(t *testing.T) broker.Log { return open(t, Config{}) })
}
