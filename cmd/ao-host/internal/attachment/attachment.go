// Package attachment makes a part of a message of a file that a person names.
package attachment

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/boundedfile"
)

// maxSize bounds what is read into memory, in bytes. The host's own bound is below
// it and decides.
const maxSize = 16 << 20

// Of is the content of a file as it is sent: an image, or a file. Its type follows
// from the name, else from the bytes.
func Of(path string, b []byte) host.Content {
	media := mime.TypeByExtension(filepath.Ext(path))
	if media == "" {
		media = http.DetectContentType(b)
	}
	media, _, _ = strings.Cut(media, ";")
	c := host.Content{Type: abi.ContentFile, Media: media, Name: filepath.Base(path), Bytes: b}
	if strings.HasPrefix(media, "image/") {
		c.Type = abi.ContentImage
	}
	return c
}

// Read reads a file of a name that was typed where no shell reads it first: "~/" is
// the home directory, quotes around it and backslashes before blanks are those that
// a terminal writes when a file is dropped on it. It never waits for another
// process. Errors: message_too_large, empty_message, and those of the system.
func Read(typed string) (host.Content, error) {
	path := place(typed)
	b, err := boundedfile.Read(path, maxSize)
	var large *boundedfile.TooLargeError
	switch {
	case errors.As(err, &large):
		return host.Content{}, tooLarge(fmt.Sprintf("The attachment has %d bytes.", large.Size))
	case errors.Is(err, boundedfile.ErrNotRegular):
		return host.Content{}, fmt.Errorf("%s cannot be attached: %w", path, err)
	case err != nil:
		return host.Content{}, err
	case len(b) == 0:
		return host.Content{}, &host.Error{Code: host.CodeEmptyMessage, Field: "content", Detail: "The attachment has no bytes."}
	}
	return Of(path, b), nil
}

// ReadNamed reads a file that a shell named, which may be a pipe from another command.
// It reads no more than could be sent. Errors: message_too_large, and those of the
// system.
func ReadNamed(path string) (host.Content, error) {
	f, err := os.Open(path)
	if err != nil {
		return host.Content{}, err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil && st.Size() > maxSize && st.Mode().IsRegular() {
		return host.Content{}, tooLarge(fmt.Sprintf("The attachment has %d bytes.", st.Size()))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return host.Content{}, err
	case len(b) > maxSize:
		return host.Content{}, tooLarge(fmt.Sprintf("The attachment has more than %d bytes.", maxSize))
	}
	return Of(path, b), nil
}

func tooLarge(detail string) error {
	return &host.Error{Code: host.CodeMessageTooLarge, Field: "content", Detail: detail}
}

// place is the path that a typed name means. A file of exactly that name comes first.
func place(typed string) string {
	typed = strings.TrimSpace(typed)
	if _, err := os.Lstat(typed); err == nil {
		return typed
	}
	for _, q := range []string{`"`, "'"} {
		if inner, ok := strings.CutPrefix(typed, q); ok && len(inner) > 0 && strings.HasSuffix(inner, q) {
			return strings.TrimSuffix(inner, q)
		}
	}
	typed = strings.ReplaceAll(typed, `\ `, " ")
	if rest, ok := strings.CutPrefix(typed, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return typed
}
