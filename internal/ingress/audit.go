// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// maxShown is how much of a name is logged, in bytes. Servers name their tools
// as they like; those that clients take have at most 128.
const maxShown = 128

// audited is the body of a bridge's answer. At its end it notes what the bridge
// tells of the calls in it. A client that leaves before hears no end, and
// neither do we.
type audited struct {
	io.ReadCloser

	of      *http.Response
	record  *record
	metrics *metrics
	read    bool
}

// Read implements io.Reader.
func (a *audited) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !a.read {
		a.read = true
		a.note()
	}
	return n, err
}

// note reads the trailer. A bridge is a tenant's: what is not in the form that
// bridges write leaves nothing.
func (a *audited) note() {
	values := a.of.Trailer[audit.TrailerName]
	if len(values) == 0 {
		return
	}
	told, err := audit.Trailer{}, error(nil)
	if len(values) == 1 {
		told, err = audit.ParseTrailer(values[0])
	}
	if err != nil || len(values) > 1 {
		a.metrics.audited.WithLabelValues("invalid").Inc()
		return
	}
	a.metrics.audited.WithLabelValues("read").Inc()
	a.record.calls = told
}

// callAttrs returns what the access log says of the calls of a request: how many
// there were, and of the first that failed, or else of the first, where it went
// and how it ended. However many there are, it is one line of the same length.
func callAttrs(told audit.Trailer) []slog.Attr {
	if len(told.Calls) == 0 {
		return nil
	}
	shown := told.Calls[0]
	for _, c := range told.Calls {
		if c.Status != audit.Success {
			shown = c
			break
		}
	}
	return []slog.Attr{
		slog.Int("calls", len(told.Calls)+told.Dropped),
		slog.String("server", printable(shown.Server)), slog.String("tool", printable(shown.Tool)),
		slog.String("callStatus", printable(string(shown.Status))),
	}
}

// printable returns a name in printable ASCII, others escaped, and not longer
// than maxShown.
func printable(name string) string {
	quoted := strconv.QuoteToASCII(name[:min(len(name), maxShown)])
	quoted = quoted[1 : len(quoted)-1]
	return quoted[:min(len(quoted), maxShown)]
}
