// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reach asks npm's registry for an answer, from the network that it runs
// in, by the proxy and with the certificate authorities of the machine. It prints
// the chart's values with which pods of that network do the same, as JSON.
package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// timeout bounds the whole try: a registry answers within seconds.
const timeout = 20 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	p := probe{proxy: http.ProxyFromEnvironment}
	flags := flag.NewFlagSet("reach", flag.ContinueOnError)
	flags.StringVar(&p.registry, "registry", defaultRegistry, "URL of the registry")
	flags.StringVar(&p.resolver, "resolver", "", "address of the resolver of that network, such as 10.213.0.1:53")
	authorities := flags.String("authorities", "", "files of certificate authorities that the machine trusts, with : between them")
	allowed := flags.String("allow", "", "address ranges that bridges may reach anyway, with commas between them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	if p.pool, p.own, err = readAuthorities(strings.FieldsFunc(*authorities, func(r rune) bool { return r == ':' })); err != nil {
		return err
	}
	p.proxies, err = proxiesOf(os.Environ())
	if err != nil {
		return err
	}
	f, err := p.try(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(valuesOf(f, strings.FieldsFunc(*allowed, func(r rune) bool { return r == ',' })))
}

// readAuthorities returns the authorities that the machine trusts, and whether it
// names files of its own. A file that is named twice is read twice, which is fine.
func readAuthorities(files []string) (pool *x509.CertPool, own bool, err error) {
	pool, err = x509.SystemCertPool()
	if err != nil {
		return nil, false, fmt.Errorf("read the machine's certificate authorities: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, false, fmt.Errorf("read certificate authorities: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, false, errors.New("there is no certificate in " + file)
		}
	}
	return pool, len(files) > 0, nil
}

// proxiesOf returns the variables of an environment that name proxies, by the names
// in capitals. A proxy with a password is refused: every user's program would read it.
func proxiesOf(environment []string) (map[string]string, error) {
	proxies := map[string]string{}
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		upper := strings.ToUpper(name)
		if value == "" || upper != "HTTP_PROXY" && upper != "HTTPS_PROXY" && upper != "NO_PROXY" {
			continue
		}
		if strings.Contains(value, "@") {
			return nil, fmt.Errorf("%s has a user or a password, which pods are not told: set up the installation's bridge.runtimes.env yourself", name)
		}
		proxies[upper] = value
	}
	return proxies, nil
}

// found is what a try found.
type found struct {
	// addresses are those of the registry, or of the proxy before it.
	addresses []netip.Addr
	proxies   map[string]string
	registry  string
	// authority signs the registry's certificates; nil where it is one that
	// everybody trusts.
	authority *x509.Certificate
}
