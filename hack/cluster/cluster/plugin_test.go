// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const addition = `{"cniVersion":"0.4.0","prevResult":{"cniVersion":"0.4.0","ips":[{"version":"4","address":"10.244.0.7/24"}]}}`

// runPlugin runs the plugin as containerd does, and returns its exit code, what it
// writes, and what it announces. The answer is that of what enforces.
func runPlugin(t *testing.T, command, in string, answer int) (code int, out string, announced map[string]string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&announced); err != nil {
			t.Error(err)
		}
		w.WriteHeader(answer)
		_, _ = io.WriteString(w, "no rules")
	}))
	defer server.Close()
	environment := map[string]string{
		"CNI_COMMAND": command, "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=web;K8S_POD_UID=1",
	}
	var written bytes.Buffer
	code = plugin{func(name string) string { return environment[name] }, strings.NewReader(in), &written, server.URL}.run()
	return code, written.String(), announced
}

func TestAPodStartsWhenItsRulesAreWritten(t *testing.T) {
	code, out, announced := runPlugin(t, "ADD", addition, http.StatusOK)
	if code != 0 || !strings.Contains(out, "10.244.0.7/24") {
		t.Errorf("exit code %d, result %s", code, out)
	}
	for name, want := range map[string]string{"namespace": "a", "name": "web", "uid": "1", "address": "10.244.0.7"} {
		if announced[name] != want {
			t.Errorf("the announced %s is %q, want %q", name, announced[name], want)
		}
	}
}

func TestAPodDoesNotStartWithoutItsRules(t *testing.T) {
	for name, test := range map[string]struct {
		in     string
		answer int
	}{
		"the rules were not written":   {addition, http.StatusServiceUnavailable},
		"the pod has no address":       {`{"prevResult":{"ips":[]}}`, http.StatusOK},
		"there is no earlier plugin":   {`{}`, http.StatusOK},
		"the configuration is no JSON": {`no`, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, _ := runPlugin(t, "ADD", test.in, test.answer)
			if code == 0 || !strings.Contains(out, `"msg"`) {
				t.Errorf("exit code %d, output %s; want an error of CNI", code, out)
			}
		})
	}
}

func TestTheRemovalOfAPodAsksNobody(t *testing.T) {
	if code, _, announced := runPlugin(t, "DEL", "", http.StatusServiceUnavailable); code != 0 || announced != nil {
		t.Errorf("exit code %d, announced %v", code, announced)
	}
}
