package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ServeMCP is a small MCP server over stdio (protocol 2025-06-18 and later) whose tools
// ask the person behind the harness for something, so that a live test can see an
// elicitation. A test binary serves it from TestMain when re-executed by the harness.
//
// Tool "form" asks for the form in its argument "schema" with the text in "message";
// tool "url" asks to visit "url". Both return the answer as JSON text. Errors are the
// reading end's; the end of input is none.
func ServeMCP(in io.Reader, out io.Writer) error {
	s := &mcpServer{in: bufio.NewReader(in), out: json.NewEncoder(out)}
	for {
		m, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.handle(m); err != nil {
			return err
		}
	}
}

type mcpServer struct {
	in    *bufio.Reader
	out   *json.Encoder
	asked int
}

type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (s *mcpServer) next() (mcpMessage, error) {
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			return mcpMessage{}, err
		}
		var m mcpMessage
		if json.Unmarshal(line, &m) == nil {
			return m, nil
		}
	}
}

func (s *mcpServer) result(id json.RawMessage, result any) error {
	return s.out.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *mcpServer) handle(m mcpMessage) error {
	switch {
	case m.ID == nil:
		return nil
	case m.Method == "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return err
		}
		return s.result(m.ID, map[string]any{"protocolVersion": p.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "lab", "version": "1.0.0"}})
	case m.Method == "tools/list":
		object := map[string]any{"type": "object", "additionalProperties": true}
		readOnly := map[string]any{"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false}
		return s.result(m.ID, map[string]any{"tools": []any{
			map[string]any{"name": "form", "description": "Asks for a form.", "inputSchema": object, "annotations": readOnly},
			map[string]any{"name": "url", "description": "Asks to visit a page.", "inputSchema": object, "annotations": readOnly},
		}})
	case m.Method == "tools/call":
		return s.call(m)
	case m.Method == "ping":
		return s.result(m.ID, map[string]any{})
	default:
		return s.out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "no such method: " + m.Method}})
	}
}

// call asks and waits; requests that come meanwhile are served.
func (s *mcpServer) call(m mcpMessage) error {
	var p struct {
		Name      string `json:"name"`
		Arguments struct {
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"schema"`
			URL     string          `json:"url"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	s.asked++
	id := fmt.Sprintf("ask-%d", s.asked)
	params := map[string]any{"mode": "form", "message": p.Arguments.Message, "requestedSchema": p.Arguments.Schema}
	if p.Name == "url" {
		params = map[string]any{"mode": "url", "message": p.Arguments.Message, "url": p.Arguments.URL, "elicitationId": id}
	}
	if err := s.out.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}); err != nil {
		return err
	}
	for {
		answer, err := s.next()
		if err != nil {
			return err
		}
		if answer.Method != "" {
			if err := s.handle(answer); err != nil {
				return err
			}
			continue
		}
		text := answer.Result
		if text == nil {
			text = answer.Error
		}
		return s.result(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": string(text)}}})
	}
}
