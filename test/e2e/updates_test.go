// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// changing is a page with the consoles' script for updates, which a test changes. It says its state
// in two parts: in the head, and beside a button.
type changing struct {
	mu    sync.Mutex
	state string
	// done says that nothing is under way any more, and down that the page is not served.
	done, down bool
	// visits counts the times that the page was opened, and not read by its script.
	visits int
}

func (c *changing) set(change func(*changing)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		c.visits++
	}
	if c.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	note := `<p class="changes" data-every="0.05"><span>Something here is still under way.</span> <a href="">Check again</a></p>`
	if c.done {
		note = ""
	}
	console.WritePage(w, http.StatusOK, fmt.Appendf(nil, `<!DOCTYPE html><html lang="en"><head><link rel="icon" href="data:,"><title>Servers</title></head><body>
%s<div data-part="head"><h1>Head %s</h1></div>
<div data-part="servers"><p>Server %s</p><button type="button">Details</button></div>
<button type="button">Elsewhere</button> <label>Reason <input></label>
</body></html>`, note, c.state, c.state))
}

func TestAPageUpdatesByItself(t *testing.T) {
	t.Parallel()
	page := &changing{}
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	p := newPerson(t, browser{})
	// opened is the page of a server that starts.
	opened := func(t *testing.T) {
		t.Helper()
		page.set(func(c *changing) { c.state, c.done, c.down, c.visits = "starts", false, false, 0 })
		p.says(t, p.does(t, "open", server.URL), "This page updates by itself.", "Stop", "Head starts", "Server starts")
	}
	// works is the page once the server works.
	works := func(c *changing) { c.state = "works" }
	// becomes waits until the page says all the words.
	becomes := func(t *testing.T, words ...string) (v view) {
		t.Helper()
		wait.NoError(t, wait.Limit, "the page updates", func(context.Context) (err error) {
			v, err = p.try("look")
			for _, word := range words {
				err = errors.Join(err, has(v.Text, word))
			}
			return err
		})
		return v
	}

	t.Run("until nothing is under way", func(t *testing.T) {
		opened(t)
		page.set(works)
		becomes(t, "Head works", "Server works", "This page updates by itself.")
		page.set(func(c *changing) { c.state, c.done = "sleeps", true })
		v := becomes(t, "Head sleeps", "Server sleeps", "Up to date.")
		if strings.Contains(v.Text, "Stop") || strings.Contains(v.Text, "Check again") {
			t.Errorf("it still offers something: %s", v.Text)
		}
		page.set(func(c *changing) {
			if c.visits != 1 {
				t.Errorf("the page was opened %d times", c.visits)
			}
		})
	})
	t.Run("until it is stopped", func(t *testing.T) {
		opened(t)
		p.says(t, p.does(t, "click", "Stop"), "Updates have stopped.", "Check again")
		page.set(works)
		p.says(t, p.does(t, "look"), "Updates have stopped.", "Head starts")
		p.says(t, p.does(t, "press", "Check again"), "Head works", "This page updates by itself.")
	})
	t.Run("until somebody types", func(t *testing.T) {
		opened(t)
		p.says(t, p.does(t, "fill", "Reason", "For the handbook."), "Updates have stopped, so that what you type stays.", "Check again")
	})
	t.Run("but for the part with the focus", func(t *testing.T) {
		opened(t)
		p.does(t, "click", "Details")
		page.set(func(c *changing) { c.state, c.done = "works", true })
		becomes(t, "Head works", "Server starts", "This page updates by itself.")
		p.does(t, "click", "Elsewhere")
		becomes(t, "Server works", "Up to date.")
	})
	t.Run("until it is not served", func(t *testing.T) {
		opened(t)
		page.set(func(c *changing) { c.down = true })
		becomes(t, "This page could not be updated.", "Check again", "Server starts")
	})
}
