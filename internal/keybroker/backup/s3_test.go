// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/aws-http-auth/credentials"
)

const (
	s3Region = "eu-central-1"
	s3Bucket = "backups"
)

var s3Key = credentials.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "hb-canary-s3-secret"}

// s3 stands for a service of S3 with one bucket and one key. It computes signatures by the
// specification and not with the library that signs, and compares the hash of a body with
// the signed one. Unlike the real one it has no versions, no multipart uploads, no
// checksums but the ETag, and only addresses with the bucket in their path.
type s3 struct {
	*httptest.Server

	// pageSize is how many names a page has: 1000 unless a test says less.
	pageSize int

	mu      sync.Mutex
	objects map[string][]byte
}

func newS3(t *testing.T) *s3 {
	t.Helper()
	s := &s3{pageSize: 1000, objects: map[string][]byte{}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	status, code, answer := s.answer(w.Header(), r, body)
	if code != "" {
		w.Header().Set("Content-Type", "application/xml")
		answer = []byte("<Error><Code>" + code + "</Code><Message>of " + r.Header.Get("Authorization") + "</Message></Error>")
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (s *s3) answer(header http.Header, r *http.Request, body []byte) (status int, code string, answer []byte) {
	if code := checkSignature(r, body); code != "" {
		return http.StatusForbidden, code, nil
	}
	bucket, key, _ := strings.Cut(r.URL.Path[1:], "/")
	if bucket != s3Bucket {
		return http.StatusNotFound, "NoSuchBucket", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, found := s.objects[key]
	switch {
	case r.Method == http.MethodGet && key == "" && r.URL.Query().Get("list-type") == "2":
		return http.StatusOK, "", s.list(r.URL.Query())
	case r.Method == http.MethodPut && found && r.Header.Get("If-None-Match") == "*":
		return http.StatusPreconditionFailed, "PreconditionFailed", nil
	case r.Method == http.MethodPut && key != "":
		s.objects[key] = body
		header.Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(md5Of(body))))
		return http.StatusOK, "", nil
	case r.Method == http.MethodGet && found:
		header.Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(md5Of(content))))
		return http.StatusOK, "", content
	case r.Method == http.MethodGet:
		return http.StatusNotFound, "NoSuchKey", nil
	case r.Method == http.MethodDelete && key != "":
		delete(s.objects, key)
		return http.StatusNoContent, "", nil
	}
	return http.StatusMethodNotAllowed, "MethodNotAllowed", nil
}

// list is one page of ListObjectsV2, whose token is the last name of the page before.
func (s *s3) list(q url.Values) []byte {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(name, q.Get("prefix")) && name > strings.TrimPrefix(q.Get("continuation-token"), "a/+=") {
			names = append(names, name)
		}
	}
	more := len(names) > s.pageSize
	var page strings.Builder
	page.WriteString(`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>` + strconv.FormatBool(more) + "</IsTruncated>")
	for _, name := range names[:min(len(names), s.pageSize)] {
		page.WriteString("<Contents><Key>" + name + "</Key></Contents>")
	}
	if more {
		page.WriteString("<NextContinuationToken>a/+=" + names[s.pageSize-1] + "</NextContinuationToken>")
	}
	page.WriteString("</ListBucketResult>")
	return []byte(page.String())
}

func md5Of(content []byte) []byte {
	sum := md5.Sum(content)
	return sum[:]
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// checkSignature returns the code of the error, empty if there is none.
func checkSignature(r *http.Request, body []byte) string {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 15*time.Minute {
		return "RequestTimeTooSkewed"
	}
	if r.Header.Get("X-Amz-Content-Sha256") != sha256Of(body) {
		return "XAmzContentSHA256Mismatch"
	}
	scope := at.Format("20060102") + "/" + s3Region + "/s3/aws4_request"
	var signed string
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ", ")
	if len(parts) != 3 {
		return "AccessDenied"
	}
	if parts[0] != "Credential="+s3Key.AccessKeyID+"/"+scope {
		return "AuthorizationHeaderMalformed"
	}
	signed = strings.TrimPrefix(parts[1], "SignedHeaders=")
	names := strings.Split(signed, ";")
	if !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-content-sha256") || !slices.Contains(names, "x-amz-date") {
		return "AccessDenied"
	}
	var headers strings.Builder
	for _, name := range names {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	// url.Values.Encode sorts by names, and escapes as S3 does but for spaces.
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), query, headers.String(), signed, sha256Of(body)}, "\n")
	key := []byte("AWS4" + s3Key.SecretAccessKey)
	for step := range strings.SplitSeq(scope, "/") {
		key = hmacOf(key, step)
	}
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, sha256Of([]byte(canonical))}, "\n")
	if parts[2] != "Signature="+hex.EncodeToString(hmacOf(key, text)) {
		return "SignatureDoesNotMatch"
	}
	return ""
}

// bucketOf returns the bucket with these changes of its options.
func (s *s3) bucketOf(t *testing.T, change func(*BucketOptions)) *Bucket {
	t.Helper()
	o := BucketOptions{URL: s.URL + "/" + s3Bucket + "/hosted/bridge", Region: s3Region, Key: s3Key, Authorities: authorityOf(s.Certificate())}
	if change != nil {
		change(&o)
	}
	b, err := NewBucket(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// names are what the service holds.
func (s *s3) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.objects), cmp.Compare)
}
