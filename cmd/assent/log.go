package main

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes for a person who watches the terminal.
func newLogger(w io.Writer, f serveFlags) (*zap.Logger, error) {
	level := zap.InfoLevel
	switch {
	case f.quiet && f.verbose:
		return nil, usagef("--quiet and --verbose exclude each other")
	case f.quiet:
		level = zap.WarnLevel
	case f.verbose:
		level = zap.DebugLevel
	}
	enc := zap.NewDevelopmentEncoderConfig()
	enc.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	enc.CallerKey, enc.StacktraceKey = "", ""
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(w)), level)
	if level > zap.DebugLevel {
		// A thousand hooks that fail alike in one second are twenty lines and then every hundredth.
		core = zapcore.NewSamplerWithOptions(core, time.Second, 20, 100)
	}
	return zap.New(core), nil
}
