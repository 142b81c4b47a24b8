package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	vklog "github.com/virtual-kubelet/virtual-kubelet/log"
	"k8s.io/klog/v2"
)

// LogTo sends the messages of client-go, which knows one logger for the whole process, to logger. Programs call it once,
// first of all.
func LogTo(logger *slog.Logger) { klog.SetSlogLogger(logger) }

// withLogger is a context in which Virtual Kubelet writes to logger.
func withLogger(ctx context.Context, logger *slog.Logger) context.Context {
	return vklog.WithLogger(ctx, adapter{logger})
}

// adapter is Virtual Kubelet's logger over slog. Its own one takes nothing but strings and falls over errors.
type adapter struct{ *slog.Logger }

var _ vklog.Logger = adapter{}

func (a adapter) say(level slog.Level, args []any) {
	if a.Enabled(context.Background(), level) {
		a.Log(context.Background(), level, strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	}
}

func (a adapter) sayf(level slog.Level, format string, args []any) {
	if a.Enabled(context.Background(), level) {
		a.Log(context.Background(), level, fmt.Sprintf(format, args...))
	}
}

func (a adapter) Debug(args ...any)            { a.say(slog.LevelDebug, args) }
func (a adapter) Debugf(f string, args ...any) { a.sayf(slog.LevelDebug, f, args) }
func (a adapter) Info(args ...any)             { a.say(slog.LevelDebug, args) }
func (a adapter) Infof(f string, args ...any)  { a.sayf(slog.LevelDebug, f, args) }
func (a adapter) Warn(args ...any)             { a.say(slog.LevelWarn, args) }
func (a adapter) Warnf(f string, args ...any)  { a.sayf(slog.LevelWarn, f, args) }
func (a adapter) Error(args ...any)            { a.say(slog.LevelError, args) }
func (a adapter) Errorf(f string, args ...any) { a.sayf(slog.LevelError, f, args) }

// Fatal is an error like others: a library does not end this process.
func (a adapter) Fatal(args ...any)            { a.say(slog.LevelError, args) }
func (a adapter) Fatalf(f string, args ...any) { a.sayf(slog.LevelError, f, args) }

func (a adapter) WithField(key string, value any) vklog.Logger {
	return adapter{a.With(key, value)}
}

func (a adapter) WithFields(fields vklog.Fields) vklog.Logger {
	args := make([]any, 0, 2*len(fields))
	for k, v := range fields {
		args = append(args, k, v)
	}
	return adapter{a.With(args...)}
}

func (a adapter) WithError(err error) vklog.Logger { return adapter{a.With("error", err)} }
