// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestore

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const (
	// uploadTimeout is for the largest bundle, within a cluster.
	uploadTimeout = 10 * time.Minute
	// leastRate is how fast a client has to read, in bytes a second, after startTime.
	leastRate = 1 << 20
	startTime = time.Minute
	// maxNeeded is the length of a list of digests in bytes: some 50,000.
	maxNeeded = 4 << 20
)

var (
	errCaller   = httpapi.New(http.StatusForbidden, "caller_not_allowed", "The certificate is of a process that may not do this.")
	errDigest   = httpapi.New(http.StatusBadRequest, "digest_invalid", "The path needs a digest: sha256: and 64 lower-case hexadecimal digits.")
	errNotFound = httpapi.New(http.StatusNotFound, "bundle_not_found", "The store has no such bundle: have it made again.")
	errNoRecord = httpapi.New(http.StatusConflict, "record_missing", "The store has no record of it: upload the record first.")
	errRecord   = httpapi.New(http.StatusBadRequest, "record_invalid", "The record is no JSON of a bundle's record.")
	errNeeded   = httpapi.New(http.StatusBadRequest, "digests_invalid", `The body is not of the form {"digests": ["sha256:…"]}.`)
	errMismatch = httpapi.New(http.StatusUnprocessableEntity, "bundle_mismatch", "The bytes are not those of this bundle. Upload it again.")
	errTooLarge = httpapi.New(http.StatusRequestEntityTooLarge, "bundle_too_large", "The bundle or its record is too large.")
	errFull     = httpapi.New(http.StatusInsufficientStorage, "store_full", "The volume is full: enlarge it, or use fewer packages.")
	errTooMany  = httpapi.New(http.StatusTooManyRequests, "too_many_downloads", "This bridge waits for too many bundles already.").After(startTime)
	errInternal = httpapi.New(http.StatusInternalServerError, "internal_error", "The store could not do this: its log has the reason.")
)

// Callers of routes.
const (
	ofIngress = 1 << iota
	ofBundler
	ofBridge
)

// Register registers the routes.
func (s *Store) Register(mux *http.ServeMux, log *slog.Logger) {
	for pattern, route := range map[string]struct {
		callers int
		answer  func(w http.ResponseWriter, r *http.Request) error
	}{
		"PUT /v1/bundles/{digest}/record": {ofBundler, s.servePutRecord},
		"PUT /v1/bundles/{digest}":        {ofBundler, s.servePut},
		"GET /v1/bundles/{digest}":        {ofBridge | ofIngress | ofBundler, s.serveGet}, // HEAD too.
		"GET /v1/bundles/{digest}/record": {ofIngress | ofBundler, s.serveRecord},
		"POST /v1/bundles/keep":           {ofIngress, s.serveKeep},
		"GET /v1/bundles":                 {ofIngress, s.serveList},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := error(errCaller)
			if kindOf(r)&route.callers != 0 {
				err = route.answer(w, r)
			}
			if err != nil {
				refuse(w, r, err, log)
			}
		})
	}
}

// kindOf returns which kind of caller the verified certificate names, 0 for none.
func kindOf(r *http.Request) int {
	name := peerName(r)
	switch {
	case name == nil:
		return 0
	case pki.IsBridge(name):
		return ofBridge
	case name.String() == pki.IngressURI().String():
		return ofIngress
	case name.String() == pki.BundlerURI().String():
		return ofBundler
	}
	return 0
}

func peerName(r *http.Request) *url.URL {
	if r.TLS == nil {
		return nil
	}
	name, err := pki.PeerName(*r.TLS)
	if err != nil {
		return nil
	}
	return name
}

// refuse answers with the problem that an error is.
func refuse(w http.ResponseWriter, r *http.Request, err error, log *slog.Logger) {
	p, ok := errors.AsType[*httpapi.Problem](err)
	switch {
	case ok:
	case errors.Is(err, bundle.ErrBundle):
		p = errMismatch
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p = errFull
	default:
		p = errInternal
		if r.Context().Err() == nil {
			log.ErrorContext(r.Context(), "bundle", "method", r.Method, "path", r.URL.Path, "error", err)
		}
	}
	p.SetHeader(w.Header(), "")
	w.WriteHeader(p.Status)
	_, _ = w.Write(p.Encode(nil))
}

func digestOf(r *http.Request) (bundle.Digest, error) {
	d, err := bundle.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return "", errDigest
	}
	return d, nil
}

func (s *Store) servePutRecord(w http.ResponseWriter, r *http.Request) error {
	d, err := digestOf(r)
	if err != nil {
		return err
	}
	text, err := readBody(w, r, bundle.MaxRecord)
	if err != nil {
		return err
	}
	record, err := bundle.DecodeRecord(text)
	if err != nil {
		return errRecord.Saying("The record is not accepted: " + err.Error() + ".")
	}
	if record.Digest != d {
		return errRecord.Saying("The record is of another bundle than the path.")
	}
	there, err := s.putRecord(r.Context(), &record, text)
	return put(w, there, err)
}

func (s *Store) servePut(w http.ResponseWriter, r *http.Request) error {
	d, err := digestOf(r)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout)) // Tests' recorders have none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(uploadTimeout + startTime))
	there, err := s.putContent(r.Context(), d, r.Body)
	return put(w, there, err)
}

// put answers an upload: 200 if the store has the whole bundle already, 201 otherwise.
func put(w http.ResponseWriter, there bool, err error) error {
	if err == nil && there {
		w.WriteHeader(http.StatusOK)
	} else if err == nil {
		w.WriteHeader(http.StatusCreated)
	}
	return err
}

func (s *Store) serveGet(w http.ResponseWriter, r *http.Request) error {
	d, err := digestOf(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		info, err := os.Stat(s.content(d))
		if errors.Is(err, os.ErrNotExist) {
			return errNotFound
		}
		if err != nil {
			return err
		}
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
		return nil
	}
	result, err := s.send(w, r, d)
	s.metrics.fetches.WithLabelValues(result).Inc()
	return err
}

// send sends a bundle, and returns how that ended.
func (s *Store) send(w http.ResponseWriter, r *http.Request, d bundle.Digest) (result string, err error) {
	// A download may wait longer than an answer may take.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	leave, err := s.downloads.enter(r.Context(), peerName(r).String())
	if err != nil {
		return resultRefused, err
	}
	defer leave()
	file, size, err := s.open(d)
	if errors.Is(err, errNotFound) {
		return resultMissing, err
	}
	if err != nil {
		return resultFailed, err
	}
	defer file.Close()
	allowed := startTime + time.Duration(size/leastRate)*time.Second
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(allowed))
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if _, err := io.Copy(w, file); err != nil {
		return resultCut, nil // The answer has begun: its client sees that bytes are missing.
	}
	return resultSent, nil
}

func (s *Store) serveRecord(w http.ResponseWriter, r *http.Request) error {
	d, err := digestOf(r)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.record(d))
	if errors.Is(err, os.ErrNotExist) {
		return errNotFound
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
	return nil
}

func (s *Store) serveKeep(w http.ResponseWriter, r *http.Request) error {
	text, err := readBody(w, r, maxNeeded)
	if err != nil {
		return err
	}
	var needed struct {
		// Without the member, nothing is removed: it is no empty list.
		Digests *[]bundle.Digest `json:"digests"`
	}
	if json.Unmarshal(text, &needed) != nil || needed.Digests == nil || slices.ContainsFunc(*needed.Digests, func(d bundle.Digest) bool {
		_, err := bundle.ParseDigest(string(d))
		return err != nil
	}) {
		return errNeeded
	}
	removed, err := s.keep(*needed.Digests)
	if err != nil {
		return err
	}
	return answer(w, removed)
}

func (s *Store) serveList(w http.ResponseWriter, _ *http.Request) error {
	found, err := s.inventory()
	if err != nil {
		return err
	}
	return answer(w, found)
}

func answer(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errTooLarge
	}
	return text, err
}
