// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pluginTimeout bounds how long a pod waits for its rules. containerd waits
// longer for its plugins.
const pluginTimeout = 30 * time.Second

// plugin is this program as the last of the CNI plugins. It announces a pod to
// the program that enforces NetworkPolicies and returns when the pod's rules are
// written, so that no container of it runs before.
type plugin struct {
	getenv  func(string) string
	in      io.Reader
	out     io.Writer
	enforce string // The URL of the program that enforces.
}

// linkPlugins makes a folder of all CNI plugins and this one: containerd looks in
// one folder.
func (c cluster) linkPlugins(from string) (string, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	links := map[string]string{policyPlugin: self}
	for _, e := range entries {
		links[e.Name()] = filepath.Join(from, e.Name())
	}
	folder := c.path("cni-plugins")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// run returns the exit code. What is written is of the CNI specification.
func (p plugin) run() int {
	var err error
	switch p.getenv("CNI_COMMAND") {
	case "VERSION":
		_, err = io.WriteString(p.out, `{"cniVersion":"0.4.0","supportedVersions":["0.3.0","0.3.1","0.4.0"]}`)
	case "ADD":
		err = p.add()
	}
	if err == nil {
		return 0
	}
	_ = json.NewEncoder(p.out).Encode(map[string]any{"cniVersion": "0.4.0", "code": 11, "msg": err.Error()})
	return 1
}

func (p plugin) add() error {
	var config struct {
		Result json.RawMessage `json:"prevResult"`
	}
	if err := json.NewDecoder(p.in).Decode(&config); err != nil {
		return fmt.Errorf("read the plugin's configuration: %w", err)
	}
	var result struct {
		IPs []struct {
			Address netip.Prefix `json:"address"`
		} `json:"ips"`
	}
	if err := json.Unmarshal(config.Result, &result); err != nil || len(result.IPs) == 0 {
		return errors.Join(errors.New("the plugins before gave the pod no address"), err)
	}
	arguments := map[string]string{}
	for argument := range strings.SplitSeq(p.getenv("CNI_ARGS"), ";") {
		name, value, _ := strings.Cut(argument, "=")
		arguments[name] = value
	}
	err := p.announce(map[string]string{
		"namespace": arguments["K8S_POD_NAMESPACE"], "name": arguments["K8S_POD_NAME"], "uid": arguments["K8S_POD_UID"],
		"address": result.IPs[0].Address.Addr().String(),
	})
	if err != nil {
		return err
	}
	_, err = p.out.Write(config.Result)
	return err
}

func (p plugin) announce(pod map[string]string) error {
	body, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pluginTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.enforce+"/pods", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("announce the pod to what enforces policies: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{}).Do(r)
	if err != nil {
		return fmt.Errorf("announce the pod to what enforces policies: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("the pod's policies are not enforced yet: %s", bytes.TrimSpace(why))
	}
	return nil
}
