// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health asks the tools that wait for objects what they see of one.
package health

import (
	"os"
	"regexp"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kube "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/repository"
)

// The answers of Expect.
const (
	Current    = "Current Healthy"
	InProgress = "InProgress Progressing"
	Failed     = "Failed Degraded"
	// FailedServer is a bridge that is served and has a server that fails.
	FailedServer = "Current Degraded"
)

// Expect compares what kstatus, the library of Flux, and the health check for Argo CD in the
// documentation say of an object.
func Expect(t testing.TB, object kube.Object, want string) {
	t.Helper()
	content := must.Value(kube.DefaultUnstructuredConverter.ToUnstructured(object))(t)
	result := must.Value(status.Compute(&unstructured.Unstructured{Object: content}))(t)
	if got := string(result.Status) + " " + argo(t, content); got != want {
		t.Errorf("kstatus and Argo CD say %s, want %s: %s; status %v", got, want, result.Message, content["status"])
	}
}

// argo runs the health check of the documentation as Argo CD does: the object is the global
// obj, and the result a table with the status.
func argo(t testing.TB, object map[string]any) string {
	t.Helper()
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", value(l, object))
	must.Succeed(t, l.DoString(script(t)))
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the health check returns %v, not a table", l.Get(-1))
	}
	return result.RawGetString("status").String()
}

var inPage = regexp.MustCompile("(?s)health\\.lua: \\|\n(.*?)\n```")

func script(t testing.TB) string {
	t.Helper()
	page := must.Value(os.ReadFile(must.Value(repository.Path("docs", "operations", "profiles.md"))(t)))(t)
	found := inPage.FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/operations/profiles.md has no health check for Argo CD")
	}
	return string(found[1])
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, one := range v {
			table.RawSetString(key, value(l, one))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, one := range v {
			table.Append(value(l, one))
		}
		return table
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}
