// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads and writes BridgeProfiles as people write them, in YAML. It checks
// and completes them by the schema of their CustomResourceDefinition, as the API server does,
// but for the rules in CEL.
//
// The package is pure.
package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// MaxSize is how long a manifest may be, in bytes. A profile of 64 servers has some 32 KiB.
const MaxSize = 64 << 10

// Kind is the kind of what is read.
const Kind = "BridgeProfile"

// Problem is what is wrong with a field, and what is accepted there.
type Problem struct {
	// Field is its path, such as spec.servers[0].name, empty for the whole text.
	Field, Text string
}

// maxProblems is how many problems are named at once.
const maxProblems = 10

// separator is a line that begins another document.
var separator = regexp.MustCompile(`(?m)^---(\s|$)`)

// Parse reads a profile of the namespace of an installation, with the defaults that the API
// server fills in. Without a namespace the profile gets that one. If there are problems, the
// profile is not to be used.
func Parse(text []byte, namespace string) (v1alpha1.BridgeProfile, []Problem) {
	var p v1alpha1.BridgeProfile
	object, problem := objectOf(text)
	if problem != "" {
		return p, []Problem{{"", problem}}
	}
	if problems := checkHeader(object, namespace); len(problems) > 0 {
		return p, problems
	}
	delete(object, "status")
	problems := schema().complete(object)
	if len(problems) == 0 {
		problems = schema().validate(object)
	}
	if len(problems) > 0 {
		return p, problems[:min(len(problems), maxProblems)]
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &p); err != nil {
		return p, []Problem{{"", "It cannot be read: " + err.Error() + "."}}
	}
	p.Namespace = namespace
	return p, nil
}

// objectOf returns the one object of a text, or what is wrong with the text.
func objectOf(text []byte) (map[string]any, string) {
	switch {
	case len(text) > MaxSize:
		return nil, fmt.Sprintf("It is longer than the %d KiB that this page takes. Use the command below.", MaxSize>>10)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, "It is empty. Enter the manifest of a BridgeProfile."
	}
	// A first line of --- begins the only document.
	if separator.Match(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("---"))) {
		return nil, "It has more than one document. Enter one BridgeProfile, without lines of ---."
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, "It is not YAML: " + strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ") + "."
	}
	var object map[string]any
	// As the API server does, whole numbers stay whole numbers.
	if err := utiljson.Unmarshal(data, &object); err != nil || object == nil {
		return nil, "It is not an object. Enter the manifest of a BridgeProfile, which begins with apiVersion and kind."
	}
	return object, ""
}

// checkHeader checks what says which object it is.
func checkHeader(object map[string]any, namespace string) []Problem {
	var problems []Problem
	is := func(field, want string) {
		if object[field] != want {
			problems = append(problems, Problem{field, fmt.Sprintf("It is %s, and must be %s.", shown(object[field]), want)})
		}
	}
	is("apiVersion", v1alpha1.GroupVersion.String())
	is("kind", Kind)
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return append(problems, Problem{"metadata", "It is missing. It must have a name."})
	}
	name, _ := metadata["name"].(string)
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		problems = append(problems, Problem{"metadata.name", fmt.Sprintf("It is %s. It must be up to 253 lower-case letters, digits, hyphens and dots, such as engineering.", shown(metadata["name"]))})
	}
	if at, set := metadata["namespace"]; set && at != namespace {
		problems = append(problems, Problem{"metadata.namespace", fmt.Sprintf("It is %s. Profiles have an effect in %s alone.", shown(at), namespace)})
	}
	return problems
}

// shown returns a value as a sentence has it, shortened.
func shown(value any) string {
	if value == nil {
		return "missing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "of another form"
	}
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

// Text returns a profile as people write it: without its status and without what the API
// server and other tools keep in its metadata.
func Text(p v1alpha1.BridgeProfile) (string, error) {
	annotations := map[string]string{}
	for name, value := range p.Annotations {
		if name != corev1.LastAppliedConfigAnnotation {
			annotations[name] = value
		}
	}
	data, err := json.Marshal(v1alpha1.BridgeProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: Kind},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: p.Labels, Annotations: annotations},
		Spec:       p.Spec,
	})
	if err != nil {
		return "", fmt.Errorf("write a profile: %w", err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil {
		return "", fmt.Errorf("write a profile: %w", err)
	}
	delete(object, "status")
	text, err := yaml.Marshal(object)
	if err == nil && bytes.ContainsFunc(text, isHidden) {
		// Only quoted text can escape them, and as in JSON all text is quoted.
		text, err = json.MarshalIndent(object, "", "  ")
		text = escape(append(text, '\n'))
	}
	if err != nil {
		return "", fmt.Errorf("write a profile: %w", err)
	}
	return string(text), nil
}

// isHidden reports whether a character changes how a text looks, such as one that turns the
// direction of what follows.
func isHidden(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// escape returns a text in JSON whose hidden characters are escaped, as YAML reads them.
func escape(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		switch {
		case !isHidden(r):
			out = utf8.AppendRune(out, r)
		case r <= 0xffff:
			out = fmt.Appendf(out, "\\u%04x", r)
		default:
			out = fmt.Appendf(out, "\\U%08x", r)
		}
	}
	return out
}
