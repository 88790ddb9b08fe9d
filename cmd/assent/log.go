package main

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"assent/internal/terminal"
)

// newLogger writes text for people, or a JSON object a line for programs.
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
	enc, err := logEncoder(f.logFormat, terminal.IsTerminal(w))
	if err != nil {
		return nil, err
	}
	core := zapcore.NewCore(enc, zapcore.Lock(zapcore.AddSync(w)), level)
	if level > zap.DebugLevel {
		// A thousand hooks that fail alike in one second are twenty lines and then every hundredth.
		core = zapcore.NewSamplerWithOptions(core, time.Second, 20, 100)
	}
	return zap.New(core), nil
}

// logEncoder is the one for a format. A terminal gets times without the date; a file is read later and has it.
func logEncoder(format string, terminal bool) (zapcore.Encoder, error) {
	switch format {
	case "json":
		enc := zap.NewProductionEncoderConfig()
		enc.TimeKey, enc.CallerKey, enc.StacktraceKey = "time", "", ""
		enc.EncodeTime = func(t time.Time, to zapcore.PrimitiveArrayEncoder) {
			to.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
		}
		return zapcore.NewJSONEncoder(enc), nil
	case "", "text":
		layout := "2006-01-02T15:04:05.000Z07:00"
		if terminal {
			layout = "15:04:05.000"
		}
		enc := zap.NewDevelopmentEncoderConfig()
		enc.EncodeTime = zapcore.TimeEncoderOfLayout(layout)
		enc.CallerKey, enc.StacktraceKey = "", ""
		return zapcore.NewConsoleEncoder(enc), nil
	}
	return nil, usagef("--log-format %q: want text or json", format)
}
