package host

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// LogLevel is the level from which on a conversation's records are logged: debug,
// info, warn or error, or empty for that of the logger itself.
type LogLevel struct {
	Level string `json:"level"`
}

// SetLogLevel raises or lowers the log of one conversation without the others, until
// the host is closed. At debug the log holds what the harness and its binding print;
// above debug it never does.
//
// Errors: unknown_conversation, invalid_argument.
func (h *Host) SetLogLevel(ctx context.Context, conversation string, l LogLevel) (LogLevel, error) {
	level, err := l.parse()
	if err != nil {
		return LogLevel{}, err
	}
	if _, err := h.store.Conversation(ctx, conversation); err != nil {
		return LogLevel{}, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	h.levels.of(conversation).Store(level)
	return h.LogLevel(ctx, conversation)
}

// LogLevel returns the log level that was set for a conversation, empty if none was.
//
// Errors: unknown_conversation.
func (h *Host) LogLevel(ctx context.Context, conversation string) (LogLevel, error) {
	if _, err := h.store.Conversation(ctx, conversation); err != nil {
		return LogLevel{}, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	level := h.levels.of(conversation).Load()
	if level == nil {
		return LogLevel{}, nil
	}
	return LogLevel{Level: strings.ToLower(level.String())}, nil
}

func (l LogLevel) parse() (*slog.Level, error) {
	var level slog.Level
	switch l.Level {
	case "":
		return nil, nil
	case "debug", "info", "warn", "error":
		_ = level.UnmarshalText([]byte(l.Level)) // these names cannot fail
		return &level, nil
	}
	return nil, failField(CodeInvalidArgument, "level", "%q is not a log level; use debug, info, warn or error.", l.Level)
}

// ownLevel is the level of one conversation, nil for that of the logger.
type ownLevel = atomic.Pointer[slog.Level]

// levels are the log levels of single conversations.
type levels struct {
	mu  sync.Mutex
	own map[string]*ownLevel
}

func (l *levels) of(conversation string) *ownLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.own[conversation]
	if own == nil {
		own = &ownLevel{}
		l.own[conversation] = own
	}
	return own
}

// forget is of a conversation that is gone.
func (l *levels) forget(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.own, conversation)
}

func newLevels(configured map[string]slog.Level) *levels {
	l := &levels{own: map[string]*ownLevel{}}
	for conversation, level := range configured {
		l.of(conversation).Store(&level)
	}
	return l
}

// logger is the log of one conversation.
func (h *Host) logger(conversation string) *slog.Logger {
	handler := levelHandler{h.cfg.Logger.Handler(), h.levels.of(conversation)}
	return slog.New(handler).With("conversation", conversation)
}

// generationLog names a generation beside the conversation, if there is one.
func (c *conversation) generationLog(gen int64) *slog.Logger {
	switch {
	case gen == 0:
		return c.log
	case c.sess != nil && c.sess.gen == gen:
		return c.sess.log
	}
	return c.log.With("generation", gen)
}

// levelHandler decides by a level of its own where there is one. It relies on the
// rule of slog that a handler's Enabled alone decides, and its Handle does not.
type levelHandler struct {
	slog.Handler
	own *ownLevel
}

func (l levelHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if own := l.own.Load(); own != nil {
		return level >= *own
	}
	return l.Handler.Enabled(ctx, level)
}

func (l levelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return levelHandler{l.Handler.WithAttrs(attrs), l.own}
}

func (l levelHandler) WithGroup(name string) slog.Handler {
	return levelHandler{l.Handler.WithGroup(name), l.own}
}

// knownCode is a code for the log: those of a provider are its own words.
func knownCode(code string) string {
	if code == "" || codeTexts[Code(code)] != "" {
		return code
	}
	return "other"
}
