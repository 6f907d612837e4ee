// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// forward joins each connection of the listener to a new one to the target. It
// ends with the process.
func forward(ctx context.Context, listener net.Listener, target string) {
	for ctx.Err() == nil {
		client, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "accept:", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go join(ctx, client.(*net.TCPConn), target)
	}
}

func join(ctx context.Context, client *net.TCPConn, target string) {
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	var done sync.WaitGroup
	for _, way := range [][2]*net.TCPConn{{client, server}, {server, client}} {
		done.Go(func() {
			_, err := io.Copy(way[0], way[1])
			_ = way[0].CloseWrite()
			if err != nil { // One side is gone: the other's answer has no reader.
				_ = way[1].Close()
			}
		})
	}
	done.Wait()
}
