// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
)

// owned is what an API server says of the fields of the configuration below.
const owned = `{"f:metadata":{"f:annotations":{"f:hostedbridge.dev/applied":{}},"f:labels":{"f:a":{}},
	"f:ownerReferences":{"k:{\"uid\":\"\"}":{}}},"f:data":{"f:config.json":{}}}`

func TestUnchanged(t *testing.T) {
	for name, tt := range map[string]struct {
		digest, manager, fields string
		want                    bool
	}{
		"all of it is there and ours":               {"", "operator", owned, true},
		"something else was applied":                {"other", "operator", owned, false},
		"somebody has changed a value":              {"", "operator", strings.Replace(owned, `"f:config.json":{}`, `"f:other":{}`, 1), false},
		"somebody has changed a label":              {"", "operator", strings.Replace(owned, `"f:labels":{"f:a":{}},`, "", 1), false},
		"somebody has changed the digest":           {"", "operator", strings.Replace(owned, `"f:hostedbridge.dev/applied":{}`, "", 1), false},
		"all fields are another's":                  {"", "another", owned, false},
		"what the API server says cannot be read":   {"", "operator", "{", false},
		"the fields that are ours are more than it": {"", "operator", strings.Replace(owned, `"f:data"`, `"f:immutable":{},"f:data"`, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := corev1ac.ConfigMap("m", "tenants").WithLabels(map[string]string{"a": "b"}).WithData(map[string]string{"config.json": "{}"})
			content, digest, err := mark(c)
			if err != nil || c.Annotations[v1alpha1.AnnotationApplied] != digest {
				t.Fatalf("marked by %q, error %v", c.Annotations, err)
			}
			existing := &metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationApplied: digest}}
			if tt.digest != "" {
				existing.Annotations[v1alpha1.AnnotationApplied] = tt.digest
			}
			existing.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: tt.manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(tt.fields)}}
			if got := (&Applier{FieldOwner: "operator"}).unchanged(existing, content, digest); got != tt.want {
				t.Errorf("unchanged: %v", got)
			}
		})
	}
}

func TestOwns(t *testing.T) {
	for name, tt := range map[string]struct {
		fields, value string
		want          bool
	}{
		"a list with keys":                        {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:x":{}}}}`, `{"l":[{"name":"a","x":1}]}`, true},
		"an item that is not there":               {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:x":{}}}}`, `{"l":[{"name":"b","x":1}]}`, false},
		"an item of which a field is another's":   {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}`, `{"l":[{"name":"a","x":1}]}`, false},
		"a key in other escapes":                  {`{"f:l":{"k:{\"mountPath\":\"/a&b\"}":{".":{},"f:mountPath":{}}}}`, `{"l":[{"mountPath":"/a\u0026b"}]}`, true},
		"a key that is a number":                  {`{"f:l":{"k:{\"port\":1}":{".":{},"f:port":{}},"k:{\"port\":12}":{".":{},"f:port":{}}}}`, `{"l":[{"port":12},{"port":2}]}`, false},
		"a list after another":                    {`{"f:l":{"v:1":{}},"f:m":{"v:2":{}}}`, `{"l":[1],"m":[3]}`, false},
		"an object in an item":                    {`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:o":{"f:x":{}}}}}`, `{"l":[{"o":{"x":1,"y":1},"name":"a"}]}`, false},
		"a key that cannot be read":               {`{"f:l":{"k:{\"name\":\"a\"":{".":{},"f:name":{}}}}`, `{"l":[{"name":"a"}]}`, false},
		"a field of which nothing is said":        {`{"f:o":null}`, `{"o":{"a":1}}`, false},
		"a key of which a part has a default":     {`{"f:l":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}`, `{"l":[{"port":1}]}`, true},
		"a list that is a set":                    {`{"f:l":{"v:\"a\"":{},"v:\"b\"":{}}}`, `{"l":["a","b"]}`, true},
		"a set without one of its values":         {`{"f:l":{"v:\"a\"":{}}}`, `{"l":["a","b"]}`, false},
		"a list that is owned as a whole":         {`{"f:l":{}}`, `{"l":[{"name":"a"}]}`, true},
		"an object that is owned as a whole":      {`{"f:o":{}}`, `{"o":{"a":{"b":1}}}`, true},
		"an object without anything":              {`{"f:o":{}}`, `{"o":{}}`, true},
		"an object of which only itself is owned": {`{"f:o":{".":{}}}`, `{"o":{"a":1}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			value := jsonscan.Open([]byte(tt.value))
			defer value.Close()
			if got := fieldsOf(metav1.NewFieldsV1(tt.fields)).owns(value); got != tt.want {
				t.Errorf("owns: %v", got)
			}
		})
	}
}
