// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicecheck is the command "ingress check", which asks an installation's Services whether
// it serves.
package servicecheck

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const usage = `Ask an installation's Services whether it serves, as "helm test" does.

Usage: ingress check --url=http://hosted-bridge-ingress --keybroker-url=https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443 --ca-file=ca.crt

`

const (
	// every is the pause between two attempts, and patience bounds one.
	every    = time.Second
	patience = 10 * time.Second
	// mostRead is more than a page of the catalog has.
	mostRead = 8 << 20
)

// options say what is asked.
type options struct {
	URL          string
	Host         string
	PublicURL    string
	CertFile     string
	KeybrokerURL string
	CAFile       string
	Timeout      time.Duration
}

func (o *options) declare() *setting.Set {
	s := setting.New("ingress check", usage)
	s.String(&o.URL, "url", "", "URL of the ingress", setting.HTTP)
	s.String(&o.Host, "host", "", "the host name of the requests, one of the ingress's --allowed-hosts (default: that of --url)")
	s.String(&o.PublicURL, "public-url", "", "public URL of the ingress, whose host its certificate must have (with --tls-cert-file)")
	s.String(&o.CertFile, "tls-cert-file", "", "the certificate that the ingress must present, in PEM")
	s.String(&o.KeybrokerURL, "keybroker-url", "", "URL of the keybroker", setting.HTTP)
	s.String(&o.CAFile, "ca-file", "", "the keybroker's certificate, in PEM, from the ConfigMap hosted-bridge-ca", setting.Required)
	s.Duration(&o.Timeout, "timeout", time.Minute, "how long to repeat a failed check")
	return s
}

// Run runs the command with the arguments after "check": it asks all there is to ask, and
// fails unless every answer is right.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	questions := o.questions()
	return tell(stdout, questions, awaitAll(ctx, questions))
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	s := o.declare()
	s.SetOutput(stderr)
	return o, s.Parse(args)
}

// awaitAll asks all questions side by side: one that finds no answer takes no
// time from the others. It returns what was wrong with each.
func awaitAll(ctx context.Context, questions []question) []error {
	wrong := make([]error, len(questions))
	var asked sync.WaitGroup
	for i, q := range questions {
		asked.Go(func() { wrong[i] = q.await(ctx) })
	}
	asked.Wait()
	return wrong
}

// tell writes a line for each question, and fails where one has no right answer.
func tell(w io.Writer, questions []question, wrong []error) error {
	failed := 0
	for i, q := range questions {
		if wrong[i] == nil {
			_, _ = fmt.Fprintf(w, "ok      %s\n", q.name)
			continue
		}
		failed++
		_, _ = fmt.Fprintf(w, "FAILED  %s: %v\n", q.name, wrong[i])
	}
	if failed > 0 {
		return fmt.Errorf("%d checks failed", failed)
	}
	return nil
}

// question is what is asked of one process, and its name what must hold.
type question struct {
	name string
	ask  func(context.Context) error
}

// questions are told of in this order.
func (o *options) questions() []question {
	public := strings.TrimRight(o.URL, "/")
	return []question{
		{"the ingress refuses a call without a key", func(ctx context.Context) error {
			status, _, err := ask(ctx, o.ingress(), http.MethodPost, public+"/u/helm-test/mcp")
			return answered(status, http.StatusUnauthorized, err)
		}},
		{"the ingress describes its API", func(ctx context.Context) error {
			return expectJSON(ctx, o.ingress(), public+"/openapi.json", "openapi")
		}},
		{"the catalog lists recipes", func(ctx context.Context) error {
			return expectJSON(ctx, o.ingress(), public+"/recipes?limit=1", "recipes")
		}},
		// A Service leads to those that are ready alone, and the certificate shows
		// that it is the keybroker whom the installation's processes trust.
		{"a keybroker that is ready shows its certificate", func(ctx context.Context) error {
			config, err := o.keybrokerTLS()
			if err != nil {
				return err
			}
			status, _, err := ask(ctx, asked{config: config}, http.MethodPost, strings.TrimRight(o.KeybrokerURL, "/")+"/v1/certificates")
			return answered(status, http.StatusUnauthorized, err)
		}},
	}
}

// await asks until the answer is right, and returns what was wrong with the
// last one.
func (q question) await(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last error
	for {
		err := q.ask(ctx)
		if err == nil {
			return nil
		}
		// What ends with the time says nothing of the installation.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}

func answered(status, want int, err error) error {
	if err == nil && status != want {
		return fmt.Errorf("answered %d, not %d", status, want)
	}
	return err
}

// expectJSON fails unless the answer is an object with the member.
func expectJSON(ctx context.Context, whom asked, target, member string) error {
	status, body, err := ask(ctx, whom, http.MethodGet, target)
	if err = answered(status, http.StatusOK, err); err != nil {
		return err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("the answer is no JSON object: %w", err)
	}
	if _, ok := object[member]; !ok {
		return fmt.Errorf("the answer has no %s", member)
	}
	return nil
}

// asked is a process that is asked: whom to take for it, and the name under
// which it is called where that is not the one at which it is reached.
type asked struct {
	config *tls.Config
	host   string
}

// ingress is called as users call it: one that knows its names answers to no
// other, such as its Service's.
func (o *options) ingress() asked {
	config := o.ingressTLS()
	config.ServerName = o.Host
	return asked{config: config, host: o.Host}
}

// ask sends one request without a key on a connection of its own, so that each
// attempt may reach another replica.
func ask(ctx context.Context, whom asked, method, target string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var content io.Reader
	if method == http.MethodPost {
		content = strings.NewReader("{}")
	}
	r, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return 0, nil, err
	}
	r.Host = whom.host
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: whom.config, DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(res.Body, mostRead))
	return res.StatusCode, body, err
}

// keybrokerTLS trusts who has the certificate that the keybroker published.
func (o *options) keybrokerTLS() (*tls.Config, error) {
	ca, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read --ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("--ca-file %s has no certificate", o.CAFile)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots}, nil
}

// ingressTLS trusts the one certificate of --tls-cert-file. Who signed it is a
// matter of the users' systems and not of this one's; that it names the address
// that they type is not.
func (o *options) ingressTLS() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares with the certificate itself.
		VerifyConnection:   o.verifyIngress,
	}
}

func (o *options) verifyIngress(state tls.ConnectionState) error {
	text, err := os.ReadFile(o.CertFile)
	if err != nil {
		return fmt.Errorf("read --tls-cert-file: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return fmt.Errorf("--tls-cert-file %s has no certificate", o.CertFile)
	}
	shown := state.PeerCertificates[0]
	if !bytes.Equal(shown.Raw, block.Bytes) {
		return errors.New("the ingress shows another certificate than --tls-cert-file")
	}
	if now := time.Now(); now.Before(shown.NotBefore) || now.After(shown.NotAfter) {
		return fmt.Errorf("the certificate is valid from %s to %s", shown.NotBefore, shown.NotAfter)
	}
	if u, err := url.Parse(o.PublicURL); err == nil && u.Hostname() != "" {
		return shown.VerifyHostname(u.Hostname())
	}
	return nil
}
