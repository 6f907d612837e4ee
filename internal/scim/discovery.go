// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// The documents by which a directory learns what is served here.
var (
	//go:embed documents/config.json
	configText []byte
	//go:embed documents/types.json
	typesText []byte
	//go:embed documents/schemas.json
	schemasText []byte
)

// ServiceProviderConfig returns what of SCIM is served.
func (w Writer) ServiceProviderConfig() json.RawMessage {
	const name = "ServiceProviderConfig"
	return jsondoc.EncodeExact(w.described(parsed(configText), name, w.URL+Base+"/"+name))
}

// ResourceTypes returns the list of types, and ResourceType one of them.
func (w Writer) ResourceTypes() json.RawMessage {
	return listOf(w.documents(typesText, "ResourceType"))
}

// ResourceType returns the type of that id.
func (w Writer) ResourceType(id string) (json.RawMessage, error) {
	return find(w.documents(typesText, "ResourceType"), id)
}

// Schemas returns the list of schemas.
func (w Writer) Schemas() json.RawMessage { return listOf(w.documents(schemasText, "Schema")) }

// Schema returns the schema of that id.
func (w Writer) Schema(id string) (json.RawMessage, error) {
	return find(w.documents(schemasText, "Schema"), id)
}

func parsed(text []byte) jsondoc.Value {
	doc, err := jsondoc.Parse(text)
	if err != nil {
		panic(err) // It is a part of the program.
	}
	return doc
}

// documents returns the items of a list of documents, each with its URL.
func (w Writer) documents(text []byte, kind string) []jsondoc.Value {
	items := parsed(text).Items
	for i, item := range items {
		id, _ := item.Get("id")
		items[i] = w.described(item, kind, w.URL+Base+"/"+kind+"s/"+id.Text)
	}
	return items
}

func (w Writer) described(doc jsondoc.Value, kind, location string) jsondoc.Value {
	return doc.With("meta", jsondoc.Value{Kind: jsondoc.Object, Members: []jsondoc.Member{
		{Name: "resourceType", Value: jsondoc.Text(kind)}, {Name: "location", Value: jsondoc.Text(location)},
	}})
}

func listOf(items []jsondoc.Value) json.RawMessage {
	return list(items, Query{StartIndex: 1, Count: len(items)}, func(v jsondoc.Value) (json.RawMessage, int) { return jsondoc.EncodeExact(v), 0 })
}

func find(items []jsondoc.Value, id string) (json.RawMessage, error) {
	for _, item := range items {
		if own, _ := item.Get("id"); strings.EqualFold(own.Text, id) {
			return jsondoc.EncodeExact(item), nil
		}
	}
	return nil, ErrNotFound
}
