// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// The program server serves all rows of package hostile, and prints their URLs.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hostedbridge/hostedbridge/test/hostile"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	if err := run(*listen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String()
	for _, row := range hostile.Rows() {
		fmt.Fprintf(os.Stdout, "%s\t%s\t%s\n", row.Name, hostile.URL(base, hostile.Old, row), row.Does)
	}
	s := hostile.NewServer()
	s.Elsewhere = base + "/elsewhere"
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(l)
}
