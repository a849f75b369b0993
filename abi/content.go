package abi

// ContentType is the type of a content block.
type ContentType string

// The content types.
const (
	ContentText  ContentType = "text"
	ContentImage ContentType = "image"
	ContentFile  ContentType = "file"
)

// Content is one block of a message. Bytes never enter the sandbox: an image
// or file is named by Data, a placeholder that the host replaces by the base64
// of the bytes on the pipe write only (rule 16).
type Content struct {
	Type ContentType `json:"type"`
	// Text is the text, for ContentText.
	Text string `json:"text,omitempty"`
	// Digest is "sha256:" and 64 hex digits of the bytes.
	Digest string `json:"digest,omitempty"`
	// Media is the media type, for example "image/png".
	Media string `json:"media,omitempty"`
	// Name is the file name.
	Name string `json:"name,omitempty"`
	// Data is the placeholder; put it inside a JSON string where the base64 of
	// the bytes belongs.
	Data string `json:"data,omitempty"`
}
