// Command agent is a harness for the example binding: a process that reads JSON-RPC
// requests line by line and answers them.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout, fmt.Sprintf("parrot-%d", os.Getpid())); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until the input ends.
func serve(in io.Reader, out io.Writer, session string) error {
	lines := bufio.NewReader(in)
	answers := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Text string `json:"text"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": request.ID}
		switch request.Method {
		case "start":
			answer["result"] = map[string]string{"session": session, "version": "1.0.0"}
		case "say":
			answer["result"] = map[string]string{"text": request.Params.Text + "!"}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method: " + request.Method}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}
