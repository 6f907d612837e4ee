// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// canaryOf is what is in all that a user's bridge answers, and in nothing else.
func canaryOf(user string) string { return "canary-" + user + "-end" }

// rounds is how often each user calls.
const rounds = 20

// misrouted returns a table that has the pod of the next user for every user.
func misrouted(w *world) *route.Table {
	w.mu.Lock()
	defer w.mu.Unlock()
	pods := make([]*corev1.Pod, len(w.pods))
	for i, p := range w.pods {
		pods[i] = p.DeepCopy()
		pods[i].Status.PodIP = w.pods[(i+1)%len(w.pods)].Status.PodIP
	}
	return route.Build(w.bridges, pods)
}

// sought is what a look for foreign bytes has found.
type sought struct{ answered, foreign, strangers int64 }

// seek has three users call at once, with equal ids and equal sessions, in both
// eras, and looks on both sides for what is somebody else's.
func seek(w *world, keys map[string]string) (found sought) {
	w.t.Helper()
	done := make(chan sought)
	for user, key := range keys {
		go func() {
			var mine sought
			for n := range rounds {
				r := w.request("POST", "/u/"+user+"/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"mine":"`+canaryOf(user)+`"}}}`)
				r.Header.Set("Mcp-Protocol-Version", [...]string{"2025-11-25", "2026-07-28"}[n%2])
				r.Header.Set("Mcp-Session-Id", "session-1")
				res, err := w.client.Do(r)
				if err != nil {
					continue
				}
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				text := string(body) + fmt.Sprint(res.Header)
				if res.StatusCode == http.StatusOK {
					mine.answered++
				}
				if strings.Count(text, "canary-") != strings.Count(text, canaryOf(user)) {
					mine.foreign++
				}
			}
			done <- mine
		}()
	}
	for range keys {
		mine := <-done
		found.answered += mine.answered
		found.foreign += mine.foreign
	}
	return found
}

// threeUsers have a bridge each, which counts what reaches it of others. With
// impostors each bridge can prove to be that of the user who is misrouted to it.
func threeUsers(t *testing.T, impostors bool) (w *world, keys map[string]string, strangers *atomic.Int64) {
	t.Helper()
	config := defaults()
	config.Wait = 0
	w, keys, strangers = newWorld(t, config), map[string]string{}, new(atomic.Int64)
	users := []string{"alice", "bob", "carol"}
	for n, user := range users {
		keys[user] = w.addUser(user)
		proves := user
		if impostors {
			proves = users[(n+len(users)-1)%len(users)]
		}
		w.serveBridge(hosts[n], "uid-"+proves, func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if text := string(body); strings.Count(text, "canary-") != strings.Count(text, canaryOf(user)) || !strings.HasPrefix(r.URL.Path, "/u/"+user+"/") {
				strangers.Add(1)
			}
			rw.Header().Set("Mcp-Session-Id", "session-1")
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+canaryOf(user)+`"}]}}`)
		})
		w.setPod(user, "pod-"+user, hosts[n])
	}
	return w, keys, strangers
}

// TestAWrongPodInTheTableReachesNobody has mutants that return the wrong pod for
// every user. The proof of the peer keeps all bytes from the wrong users; where
// that fails too, the canaries tell.
func TestAWrongPodInTheTableReachesNobody(t *testing.T) {
	for _, test := range []struct {
		name                 string
		misrouted, impostors bool
		answered, foreign    bool
	}{
		{"as it is", false, false, true, false},
		{"a table that returns the wrong pod", true, false, false, false},
		{"and the wrong pod proves to be the right one", true, true, true, true},
		{"the right pod, which proves to be another", false, true, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, keys, strangers := threeUsers(t, test.impostors)
			if test.misrouted {
				w.routes.set(misrouted(w))
			}
			found := seek(w, keys)
			found.strangers = strangers.Load()
			if (found.answered > 0) != test.answered || (found.foreign > 0) != test.foreign || (found.strangers > 0) != test.foreign {
				t.Errorf("%+v, want answers %v, foreign bytes %v", found, test.answered, test.foreign)
			}
			if all := int64(len(keys) * rounds); test.answered && found.answered != all {
				t.Errorf("%d of %d calls were answered", found.answered, all)
			}
		})
	}
}
