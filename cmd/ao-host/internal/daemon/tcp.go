package daemon

import (
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"github.com/aoagents/ao-host/host"
)

const tokenName = "token"

// listenTCP listens at a loopback address.
func listenTCP(address string) (net.Listener, error) {
	name, _, err := net.SplitHostPort(address)
	if err == nil {
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			err = errors.New("it is no loopback address")
		}
	}
	var ln net.Listener
	if err == nil {
		ln, err = net.Listen("tcp", address)
	}
	if err != nil {
		return nil, &host.Error{Code: host.CodeInvalidArgument, Field: "listen", Detail: "The address " + address + " cannot be used: " + err.Error() + ".", Err: err}
	}
	return ln, nil
}

// token returns the bearer token of the folder, and makes it the first time.
func (f folder) token() (string, error) {
	file, err := f.openPrivate(tokenName, os.O_RDWR)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	b, err := io.ReadAll(io.LimitReader(file, 4096))
	token := strings.TrimSpace(string(b))
	if err == nil && token == "" {
		token = rand.Text() + rand.Text()
		_, err = file.WriteAt([]byte(token+"\n"), 0)
	}
	if err != nil {
		return "", folderError(f.dir, err)
	}
	return token, nil
}
