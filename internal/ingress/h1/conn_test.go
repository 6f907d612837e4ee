// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// peer is the other end of a connection: what it is told to be.
type peer struct {
	t *testing.T
	*tls.Conn
	in *bufio.Reader
}

// home counts how often its connection came back.
type home struct{ kept int }

func (h *home) Keep() { h.kept++ }

// pair returns a connection and its other end, which have shaken hands.
func pair(t *testing.T) (*Conn, *peer, *home) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *tls.Conn, 1)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		conn := tls.Server(&socket{Conn: raw}, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
		if err := conn.Handshake(); err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	records := NewRecords(raw)
	client := tls.Client(records, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	server := <-accepted
	_ = server.SetDeadline(time.Now().Add(wait.Limit))
	h := &home{}
	c := NewConn(client, records, &Config{Header: kept, Trailer: keptTrailers}, h)
	t.Cleanup(func() { c.Close(); _ = server.Close() })
	return c, &peer{t, server, bufio.NewReader(server)}, h
}

// takes reads a request.
func (p *peer) takes() (*http.Request, string) {
	p.t.Helper()
	r, err := http.ReadRequest(p.in)
	if err != nil {
		p.t.Error(err)
		return nil, ""
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
	}
	return r, string(body)
}

func (p *peer) says(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Error(err)
	}
}

type line string

func (l line) AppendHead(b []byte) []byte { return append(b, l+" HTTP/1.1\r\nHost: h\r\n"...) }

func post(body string) Request {
	return Request{Head: line("POST /"), Length: true, Body: []byte(body)}
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// exchanged makes a call of body, which must be answered with ok.
func exchanged(t *testing.T, c *Conn, p *peer, body string) {
	t.Helper()
	go func() {
		if _, got := p.takes(); got != body {
			t.Errorf("the peer got %d bytes, want %d", len(got), len(body))
		}
		p.says(okAnswer)
	}()
	res, err := c.Do(t.Context(), post(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err != nil || string(got) != "ok" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestAConnectionServesOneCallAfterTheOther(t *testing.T) {
	c, p, h := pair(t)
	for i, size := range []int{0, 1, inlineBody, inlineBody, 0} {
		exchanged(t, c, p, strings.Repeat("b", size))
		if h.kept != i+1 {
			t.Fatalf("came back %d times after %d calls", h.kept, i+1)
		}
		if !c.Usable() {
			t.Fatal("not usable again")
		}
	}
}

func TestALargeBodyIsSentWhole(t *testing.T) {
	c, p, _ := pair(t)
	exchanged(t, c, p, strings.Repeat("b", 4<<20))
}

func TestAPeerMayAnswerBeforeItHasReadTheBody(t *testing.T) {
	c, p, h := pair(t)
	go p.says("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
	res, err := c.Do(t.Context(), post(strings.Repeat("b", 64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 413 {
		t.Errorf("%d, %v", res.StatusCode, err)
	}
	if h.kept != 0 {
		t.Error("a connection with a request half sent came back")
	}
}

func TestConnectionsInDoubtDoNotComeBack(t *testing.T) {
	for name, answer := range map[string]string{
		"told to be the last": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"bytes behind it":     okAnswer + "H",
		"an answer behind it": okAnswer + okAnswer,
		"bytes behind chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n",
		"a full buffer":       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + strings.Repeat(" ", 2*bufferSize),
	} {
		t.Run(name, func(t *testing.T) {
			c, p, h := pair(t)
			go func() {
				p.takes()
				// It may be closed in the middle of what is behind the answer.
				_, _ = io.WriteString(p, answer)
			}()
			res, err := c.Do(t.Context(), post("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); err != nil || string(got) != "ok" {
				t.Errorf("%q, %v", got, err)
			}
			if h.kept != 0 {
				t.Error("the connection came back")
			}
		})
	}
}

func TestAnAnswerThatIsNotReadTakesItsConnectionWithIt(t *testing.T) {
	c, p, h := pair(t)
	go func() { p.takes(); p.says(okAnswer) }()
	res, err := c.Do(t.Context(), post("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if n, err := res.Body.Read(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("read %d bytes of a closed answer, %v", n, err)
	}
	if h.kept != 0 {
		t.Error("the connection came back")
	}
	if _, err := p.Read(make([]byte, 1)); err == nil {
		t.Error("the peer's end is open")
	}
}

func TestAnIdleConnectionThatMovedIsNotUsable(t *testing.T) {
	for name, move := range map[string]func(*peer){
		"closed":             func(p *peer) { _ = p.Close() },
		"closed without TLS": func(p *peer) { _ = p.NetConn().Close() },
		"bytes of a record":  func(p *peer) { p.says("H") },
		"bytes of no record": func(p *peer) { _, _ = p.NetConn().Write([]byte("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			c, p, _ := pair(t)
			exchanged(t, c, p, "{}")
			move(p)
			for late := time.After(wait.Limit); c.Usable(); {
				select {
				case <-time.After(time.Millisecond):
				case <-late:
					t.Fatal("still usable")
				}
			}
		})
	}
}

// TestARecordBehindTheAnswerIsSeen has the next record come with the answer's in
// one read of the socket, where TLS would keep it to itself.
func TestARecordBehindTheAnswerIsSeen(t *testing.T) {
	c, p, _ := pair(t)
	exchanged(t, c, p, "{}")
	go func() {
		p.takes()
		p.NetConn().(*socket).behind = []byte{23, 3, 3, 0, 40, 1, 2, 3}
		p.says(okAnswer)
	}()
	res, err := c.Do(t.Context(), post("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ok" {
		t.Fatalf("%q, %v", body, err)
	}
	if c.Usable() {
		t.Error("usable with a record that nobody has read")
	}
}

// socket is the peer's below TLS. What is behind goes out with the next record.
type socket struct {
	net.Conn
	behind []byte
}

func (s *socket) Write(b []byte) (int, error) {
	_, err := s.Conn.Write(append(bytes.Clone(b), s.behind...))
	return len(b), err
}

func TestTheCallersLeavingEndsTheExchange(t *testing.T) {
	for _, answered := range []bool{false, true} {
		c, p, h := pair(t)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			p.takes()
			if answered {
				p.says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
			} else {
				leave()
			}
			if _, err := p.Read(make([]byte, 1)); err == nil {
				t.Error("the peer's end is open")
			}
			close(left)
		}()
		res, err := c.Do(ctx, post("{}"))
		if answered {
			if err != nil {
				t.Fatal(err)
			}
			if n, err := res.Body.Read(make([]byte, 10)); n != 2 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
			leave()
			_, err = res.Body.Read(make([]byte, 10))
			res.Body.Close()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("read: %v", err)
			}
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
		<-left
		if h.kept != 0 {
			t.Error("the connection came back")
		}
	}
}

func TestOnlyWhatHasNotLeftIsNotSent(t *testing.T) {
	c, p, _ := pair(t)
	exchanged(t, c, p, "{}")
	// Ours is closed, so that not one byte can leave.
	c.Close()
	if _, err := c.Do(t.Context(), post("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("on a closed connection: %v", err)
	}
	c, p, _ = pair(t)
	go func() { p.takes(); _ = p.Close() }()
	if _, err := c.Do(t.Context(), post("{}")); err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("after the peer has read the request: %v", err)
	}
	c, _, _ = pair(t)
	c.Close()
	if _, err := c.Do(t.Context(), post(strings.Repeat("b", 2*inlineBody))); !errors.Is(err, ErrNotSent) {
		t.Errorf("of a large body: %v", err)
	}
}

func TestTrailersAreThereAtTheEnd(t *testing.T) {
	c, p, h := pair(t)
	go func() {
		p.takes()
		p.says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Told: a\r\nX-Other: b\r\n\r\n")
	}()
	res, err := c.Do(t.Context(), post("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ok" || len(res.Trailer) != 1 || res.Trailer.Get("X-Told") != "a" || h.kept != 1 {
		t.Errorf("%q, %v, trailer %v, came back %d times", body, err, res.Trailer, h.kept)
	}
}
