// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/smithy-go/aws-http-auth/credentials"
	"github.com/aws/smithy-go/aws-http-auth/sigv4"
	v4 "github.com/aws/smithy-go/aws-http-auth/v4"
	"github.com/opencontainers/go-digest"

	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// BucketOptions lead to a bucket of S3, or of a service that is compatible with it.
type BucketOptions struct {
	// URL is the service, the bucket and a prefix, as in https://s3.example.com/bucket/prefix.
	URL    string
	Region string
	// Key is what requests are signed with.
	Key credentials.Credentials
	// Authorities are in PEM, and trusted besides the system's.
	Authorities []byte
}

// Bucket is a target in S3.
type Bucket struct {
	options BucketOptions
	bucket  *url.URL // The service and the bucket.
	prefix  string   // Of names in it; it is empty or ends in a slash.
	signer  *sigv4.Signer
	client  *http.Client
}

const (
	// responseLimit is the size of answers other than backups. A page of names has at most
	// 1000 of them.
	responseLimit = 1 << 20

	// requestTimeout is for one request: 100 MiB at 1 MiB/s.
	requestTimeout = 2 * time.Minute

	exampleURL = "https://s3.eu-central-1.amazonaws.com/bucket/prefix"
)

// plainPath are bytes that are the same in a path, in its signature and in a file's name.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

// ParseURL reads the URL of a bucket. Only a service on the same machine may be without
// TLS: requests have the session token, and tell who has which backups.
func ParseURL(value string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(value, "/"))
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !plainPath.MatchString(u.Path) {
		return nil, fmt.Errorf("%.200q is not the URL of a bucket, such as %s; names may have letters, digits and ._-", value, exampleURL)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !netguard.IsLoopback(u.Hostname())) {
		return nil, fmt.Errorf("%.200q does not begin with https://: give a URL such as %s", value, exampleURL)
	}
	return u, nil
}

// NewBucket returns a bucket. It sends nothing yet.
func NewBucket(o BucketOptions) (*Bucket, error) {
	u, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Key.AccessKeyID == "" || o.Key.SecretAccessKey == "" {
		return nil, errors.New("the bucket's credentials are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if len(o.Authorities) > 0 && !roots.AppendCertsFromPEM(o.Authorities) {
		return nil, errors.New("the bucket's certificate authorities are not certificates in PEM")
	}
	bucket, prefix, _ := strings.Cut(u.Path[1:], "/")
	if u.Path = "/" + bucket; prefix != "" {
		prefix += "/"
	}
	return &Bucket{
		options: o, bucket: u, prefix: prefix,
		// As S3 has it, unlike other services.
		signer: sigv4.New(func(s *v4.SignerOptions) { s.DisableDoublePathEscape, s.AddPayloadHashHeader = true, true }),
		client: &http.Client{
			Timeout:   requestTimeout,
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true},
			// The signature is for one host alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Put implements Target.
func (b *Bucket) Put(ctx context.Context, name string, content []byte) error {
	_, err := b.do(ctx, http.MethodPut, b.object(name), content, responseLimit)
	return err
}

// Get implements Target.
func (b *Bucket) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	return b.do(ctx, http.MethodGet, b.object(name), nil, limit)
}

// Delete implements Target.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	_, err := b.do(ctx, http.MethodDelete, b.object(name), nil, responseLimit)
	return err
}

// List implements Target.
func (b *Bucket) List(ctx context.Context) ([]string, error) {
	var names []string
	query := url.Values{"list-type": {"2"}, "prefix": {b.prefix + namePrefix}}
	for {
		at := *b.bucket
		at.RawQuery = query.Encode()
		content, err := b.do(ctx, http.MethodGet, &at, nil, responseLimit)
		if err != nil {
			return nil, err
		}
		var page struct {
			Contents              []struct{ Key string }
			IsTruncated           bool
			NextContinuationToken string
		}
		if err := xml.Unmarshal(content, &page); err != nil {
			return nil, fmt.Errorf("read the list of objects: %w", err)
		}
		for _, object := range page.Contents {
			names = append(names, strings.TrimPrefix(object.Key, b.prefix))
		}
		if !page.IsTruncated || page.NextContinuationToken == "" {
			return names, nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

func (b *Bucket) object(name string) *url.URL { return b.bucket.JoinPath(b.prefix + name) }

// do sends a signed request and returns the answer's body, of at most limit bytes.
func (b *Bucket) do(ctx context.Context, method string, at *url.URL, body []byte, limit int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if method == http.MethodPut {
		r.Header.Set("If-None-Match", "*") // An object of this name is not overwritten.
	}
	hash := digest.SHA256.Hash()
	_, _ = hash.Write(body) // It has no error.
	err = b.signer.SignRequest(&sigv4.SignRequestInput{
		Request: r, PayloadHash: hash.Sum(nil), Credentials: b.options.Key, Service: "s3", Region: b.options.Region, Time: time.Now(),
	})
	if err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	response, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	refused := response.StatusCode/100 != 2
	if refused {
		limit = responseLimit
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if refused {
		return nil, refusal(response, content)
	}
	return content, nil
}

// refusal says what the service refused, by its code and without its text, which can quote
// the request.
func refusal(response *http.Response, content []byte) error {
	var said struct{ Code string }
	_ = xml.Unmarshal(content, &said) // Without a code the status says enough.
	region := response.Header.Get("X-Amz-Bucket-Region")
	if region != "" {
		region = fmt.Sprintf("; the bucket is in the region %.40q", region)
	}
	exists := ""
	if response.StatusCode == http.StatusPreconditionFailed {
		exists = "; an object of this name exists, and is not overwritten"
	}
	return fmt.Errorf("the service answers %s %.80q%s%s", response.Status, said.Code, region, exists)
}
