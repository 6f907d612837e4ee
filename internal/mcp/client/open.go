// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// firstModern is the first version of the protocol without sessions. Versions are dates, so they
	// compare as texts.
	firstModern = "2026-07-28"
	// lastLegacy is the last version with sessions.
	lastLegacy = "2025-11-25"
)

// open introduces both ends to each other. A server that does not know the newest version is asked in
// the way of the versions before ("Versioning" in the specification of 2026-07-28).
func (s *Session) open(ctx context.Context) error {
	version := s.options.Version
	if version == "" {
		version = firstModern
	}
	if version >= firstModern {
		known, err := s.discover(ctx, version)
		if known || err != nil {
			return err
		}
		version = lastLegacy
	}
	return s.initialize(ctx, version)
}

// discover asks a server of 2026-07-28 what it is. It returns false if the server does not know this
// version of the protocol, or another one without sessions.
func (s *Session) discover(ctx context.Context, version string) (known bool, err error) {
	for range 2 {
		s.setVersion(version)
		raw, err := s.Call(ctx, Request{Method: methods.Discover, Params: s.introduced(nil), most: s.options.MaxIntroduction})
		if err == nil {
			if !s.discovered(raw) {
				break
			}
			return true, s.watch(ctx)
		}
		if s.life.Err() != nil || ctx.Err() != nil {
			return false, err
		}
		if version = modernOf(err); version == "" {
			break
		}
	}
	s.setVersion("")
	return false, nil
}

// modernOf returns the newest version without sessions that a server supports, as it says in the error
// of a request of another version. It is empty if the server supports no such version.
func modernOf(err error) string {
	failure, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || failure.Code != mcp.CodeUnsupportedProtocolVersion {
		return ""
	}
	var data mcp.UnsupportedProtocolVersionData
	if json.Unmarshal(failure.Data, &data) != nil {
		return ""
	}
	if version := newestOf(data.Supported); version >= firstModern {
		return version
	}
	return ""
}

// newestOf returns the newest version of the protocol that both ends know, empty if they share no version.
func newestOf(supported []string) string {
	for _, version := range mcp.SupportedProtocolVersions() {
		if slices.Contains(supported, version) {
			return version
		}
	}
	return ""
}

// discovered reads the answer of a server of 2026-07-28.
func (s *Session) discovered(raw json.RawMessage) (known bool) {
	var said mcp.DiscoverResult
	if json.Unmarshal(raw, &said) != nil {
		return false
	}
	if !slices.Contains(said.SupportedVersions, s.version()) {
		s.setVersion(newestOf(said.SupportedVersions))
	}
	if !s.Modern() {
		return false
	}
	s.Instructions, s.Capabilities = said.Instructions, said.Capabilities
	if info, ok := said.Meta[mcp.MetaKeyServerInfo]; ok {
		_ = json.Unmarshal(jsondoc.EncodeExact(info), &s.Info) // A description of another form counts as missing.
	}
	if s.Capabilities == nil {
		s.Capabilities = &mcp.ServerCapabilities{}
	}
	return true
}

// watch asks a server of 2026-07-28 to say when one of its lists changes.
func (s *Session) watch(ctx context.Context) error {
	what, has := map[string]any{}, s.Capabilities
	if has.Tools != nil && has.Tools.ListChanged {
		what["toolsListChanged"] = true
	}
	if has.Prompts != nil && has.Prompts.ListChanged {
		what["promptsListChanged"] = true
	}
	if has.Resources != nil && has.Resources.ListChanged {
		what["resourcesListChanged"] = true
	}
	if !s.options.Watch || len(what) == 0 {
		return nil
	}
	_, err := s.Listen(ctx, what)
	if isAnswer(err) || errors.As(err, new(*StatusError)) {
		return nil // Its lists are read again from time to time.
	}
	return err
}

// initialize begins a session.
func (s *Session) initialize(ctx context.Context, version string) error {
	params := map[string]any{"protocolVersion": version, "clientInfo": s.options.Info, "capabilities": s.capabilities()}
	if len(s.options.Meta) > 0 {
		params["_meta"] = s.options.Meta
	}
	raw, err := s.Call(ctx, Request{Method: methods.Initialize, Params: jsondoc.EncodeExact(params), most: s.options.MaxIntroduction})
	if err != nil {
		return err
	}
	var said mcp.InitializeResult
	if err := json.Unmarshal(raw, &said); err != nil {
		return fmt.Errorf("read the answer to %q: %w", methods.Initialize, err)
	}
	if !slices.Contains(mcp.SupportedProtocolVersions(), said.ProtocolVersion) {
		return fmt.Errorf("the server wants protocol version %.40q, which is not supported", said.ProtocolVersion)
	}
	s.setVersion(said.ProtocolVersion)
	s.Info, s.Capabilities, s.Instructions = said.ServerInfo, said.Capabilities, said.Instructions
	if s.Capabilities == nil {
		s.Capabilities = &mcp.ServerCapabilities{}
	}
	if err := s.Notify(ctx, methods.Initialized, json.RawMessage("{}")); err != nil {
		return err
	}
	return s.wire.begin(ctx)
}

// capabilities are what the client can do. They are never null.
func (s *Session) capabilities() map[string]any {
	if s.options.Capabilities == nil {
		return map[string]any{}
	}
	return s.options.Capabilities
}

// Introduction is the metadata that describe the client in each request of 2026-07-28.
func (s *Session) Introduction() map[string]any {
	meta := map[string]any{mcp.MetaKeyProtocolVersion: s.version(), mcp.MetaKeyClientCapabilities: s.capabilities()}
	if s.options.Info != nil {
		meta[mcp.MetaKeyClientInfo] = s.options.Info
	}
	return meta
}

// introduced returns parameters of a request of 2026-07-28, which describe the client.
func (s *Session) introduced(fields map[string]any) json.RawMessage {
	meta := s.Introduction()
	maps.Copy(meta, s.options.Meta)
	with := map[string]any{"_meta": meta}
	maps.Copy(with, fields)
	return jsondoc.EncodeExact(with)
}
