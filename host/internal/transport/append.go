package transport

import "github.com/aoagents/ao-host/abi/jsonwire"

// begin opens a message; ACP's framing has the "jsonrpc" member, that of the
// app-server family has not (WIRE).
func begin(dst []byte, jsonrpc bool) []byte {
	if jsonrpc {
		return append(dst, `{"jsonrpc":"2.0"`...)
	}
	return append(dst, '{')
}

func appendRaw(dst []byte, key string, raw []byte) []byte {
	return jsonwire.AppendRaw(jsonwire.AppendKey(dst, key), raw)
}

// AppendRequest appends a request without a newline. The id and the params are
// raw JSON; empty params are left out.
func AppendRequest(dst []byte, jsonrpc bool, id []byte, method string, params []byte) []byte {
	dst = appendRaw(begin(dst, jsonrpc), "id", id)
	return appendCall(dst, method, params)
}

// AppendNotification appends a notification without a newline. Empty params are
// left out.
func AppendNotification(dst []byte, jsonrpc bool, method string, params []byte) []byte {
	return appendCall(begin(dst, jsonrpc), method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = jsonwire.AppendField(dst, "method", method)
	if len(params) > 0 {
		dst = appendRaw(dst, "params", params)
	}
	return append(dst, '}')
}

// AppendResult appends the answer to the inbound request id, its raw JSON as it
// came. An empty result is written as null.
func AppendResult(dst []byte, jsonrpc bool, id, result []byte) []byte {
	dst = appendRaw(begin(dst, jsonrpc), "id", id)
	return append(appendRaw(dst, "result", result), '}')
}

// CodeMethodNotFound is JSON-RPC's code for a request whose method is unknown.
const CodeMethodNotFound = -32601

// AppendError appends an error answer to the inbound request id. Empty data is
// left out.
func AppendError(dst []byte, jsonrpc bool, id []byte, code int64, message string, data []byte) []byte {
	dst = appendRaw(begin(dst, jsonrpc), "id", id)
	dst = append(jsonwire.AppendKey(dst, "error"), '{')
	dst = jsonwire.AppendInt(jsonwire.AppendKey(dst, "code"), code)
	dst = jsonwire.AppendField(dst, "message", message)
	if len(data) > 0 {
		dst = appendRaw(dst, "data", data)
	}
	return append(dst, '}', '}')
}
