// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

// Fill returns the server with the variables in its headers, arguments, environment
// variables and files. A text that cannot be read stays as it is: a bridge reports it.
func Fill(s v1alpha1.Server, variables []v1alpha1.ProfileVariable) v1alpha1.Server {
	if len(variables) == 0 {
		return s
	}
	values := make(map[string]string, len(variables))
	for _, v := range variables {
		values[v.Name] = v.Value
	}
	out := *s.DeepCopy()
	for _, text := range texts(&out.Transport) {
		if t, err := template.Parse(*text); err == nil {
			*text = t.Fill(values)
		}
	}
	return out
}

// texts returns the texts of a transport that can name secrets.
func texts(t *v1alpha1.Transport) []*string {
	var all []*string
	for i := range t.Headers {
		all = append(all, &t.Headers[i].Value)
	}
	if t.Stdio == nil {
		return all
	}
	for i := range t.Stdio.Args {
		all = append(all, &t.Stdio.Args[i])
	}
	for i := range t.Stdio.Env {
		all = append(all, &t.Stdio.Env[i].Value)
	}
	for i := range t.Stdio.Files {
		all = append(all, &t.Stdio.Files[i].Content)
	}
	return all
}
