// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestBodiesThatAreOnlyDeclaredTakeNoMemory has strangers declare bodies of which
// nothing comes. What the ingress then has in use is compared at its highest, from
// the first connection to the last answer.
func TestBodiesThatAreOnlyDeclaredTakeNoMemory(t *testing.T) {
	const connections, declared = 2000, 65535
	for _, path := range []string{"/u/nobody/mcp", "/mcp"} {
		t.Run(path, func(t *testing.T) {
			alone(t) // The heap is the process's.
			config := defaults()
			config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			w := newWorld(t, config)
			before := heapInUse()
			var highest uint64
			look := func() { highest = max(highest, heapInUse()) }
			request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, declared)
			for i := range connections {
				w.open(request + fmt.Sprintf("X-Forwarded-For: 198.51.100.%d\r\n\r\n", i%100))
				if i%500 == 499 {
					look()
				}
			}
			for deadline := time.Now().Add(wait.Limit); w.metric("requests_total", "POST", "401") < connections; look() {
				if time.Now().After(deadline) {
					t.Fatalf("%v of %d were answered", w.metric("requests_total", "POST", "401"), connections)
				}
			}
			// A connection itself takes some 20 KB, of both its ends.
			if grown := int64(highest) - int64(before); grown > connections*declared/2 {
				t.Errorf("%d connections take %d KiB each, and have sent nothing of %d KiB", connections, grown/connections>>10, declared>>10)
			}
		})
	}
}

func heapInUse() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestARefusalHasTheIdWhereThereIsRoomToReadIt has one source fill what it may of
// the memory in which the ids of refused calls are looked for.
func TestARefusalHasTheIdWhereThereIsRoomToReadIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, defaults())
		refused := func() string {
			got := w.do(w.request("POST", "/mcp", "", toolCall))
			if got.status != http.StatusUnauthorized {
				t.Errorf("%d %s", got.status, got.body)
			}
			return got.body
		}
		if body := refused(); !strings.Contains(body, `"id":7`) {
			t.Errorf("with room: %s", body)
		}
		header := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", maxPeek)
		held := func() int64 {
			return w.server.router.bounds.memory.Peeks.Held()
		}
		const share = limits.MaxPeeks / 16
		for range share / maxPeek {
			w.open(header + strings.Repeat("x", maxPeek-1))
		}
		eventually(t, func() bool { return held() > share-firstRead })
		if body := refused(); strings.Contains(body, `"id"`) {
			t.Errorf("without: %s", body)
		}
		eventually(t, func() bool { return held() == 0 })
		if body := refused(); !strings.Contains(body, `"id":7`) {
			t.Errorf("with room again: %s", body)
		}
	})
}

// TestABodyThatComesInPiecesIsWhole is of sizes around those at which room is
// made for more.
func TestABodyThatComesInPiecesIsWhole(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,"result":{"got":%d}}`, len(body))
	})
	call := func(size int) string {
		const frame = `{"jsonrpc":"2.0","id":1,"method":"ping","params":""}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	for _, size := range []int{100, firstRead - 1, firstRead, firstRead + 1, 2*firstRead + 1, 64 << 10, 64<<10 + 1, 200_000} {
		for _, chunked := range []bool{false, true} {
			conn := w.dial()
			body, header := call(size), fmt.Sprintf("Content-Length: %d", size)
			if chunked {
				body, header = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body), "Transfer-Encoding: chunked"
			}
			_, _ = io.WriteString(conn, "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+alice+
				"\r\nContent-Type: application/json\r\n"+header+"\r\n\r\n")
			for piece := range (len(body) + 999) / 1000 {
				_, _ = io.WriteString(conn, body[piece*1000:min(len(body), piece*1000+1000)])
			}
			_ = conn.SetReadDeadline(time.Now().Add(wait.Limit))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if want := fmt.Sprintf(`"got":%d}`, size); !strings.Contains(string(got), want) {
				t.Errorf("%d bytes, in chunks %v: %d %s", size, chunked, res.StatusCode, got)
			}
		}
	}
}
