// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command goproxy is a plain reverse proxy of the standard library's server
// and a client that it is told, as a measure for what the ingress has in its
// place: fasthttp's, or httputil.ReverseProxy on net/http's Transport.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	listen := flag.String("listen", "", "address")
	backend := flag.String("backend", "", "address of the backend")
	dir := flag.String("tls", "", "directory of ca.pem, client.pem and client-key.pem")
	client := flag.String("client", "fasthttp", "fasthttp or net")
	flag.Parse()
	config, err := clientTLS(*dir)
	if err != nil {
		log.Fatal(err)
	}
	handler := overFasthttp(*backend, config)
	if *client == "net" {
		handler = overNet(*backend, config)
	}
	server := &http.Server{Addr: *listen, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

func clientTLS(dir string) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(dir+"/client.pem", dir+"/client-key.pem")
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(dir + "/ca.pem")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, RootCAs: roots, ServerName: "bridge"}, nil
}

func overNet(backend string, config *tls.Config) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: backend}) },
		Transport:     &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 512, DisableCompression: true},
		FlushInterval: -1,
	}
}

// overFasthttp hands on what the benchmark sends. It neither streams nor
// cancels: with either, fasthttp is slower than this.
func overFasthttp(backend string, config *tls.Config) http.Handler {
	client := &fasthttp.HostClient{
		Addr: backend, IsTLS: true, TLSConfig: config, MaxConns: 1024, NoDefaultUserAgentHeader: true,
		MaxIdleConnDuration: 30 * time.Second,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, res := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(res)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		req.Header.SetMethod(r.Method)
		req.SetRequestURI("https://bridge" + r.URL.Path)
		for _, name := range []string{"Content-Type", "Accept", "Mcp-Protocol-Version"} {
			if v := r.Header.Get(name); v != "" {
				req.Header.Set(name, v)
			}
		}
		req.SetBodyRaw(body)
		if err := client.Do(req, res); err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", string(res.Header.ContentType()))
		w.WriteHeader(res.StatusCode())
		_, _ = w.Write(res.Body())
	})
}
