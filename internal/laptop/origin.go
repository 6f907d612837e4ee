// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// originFile is mcp-bridge's config.json.
type originFile struct {
	Mode                string                        `json:"mode"`
	ToolPrefix          jsondoc.Value                 `json:"toolPrefix"`
	Servers             jsondoc.Ordered[originServer] `json:"servers"`
	ConnectionTimeoutMS int                           `json:"connectionTimeoutMs"`
	RequestTimeoutMS    int                           `json:"requestTimeoutMs"`
	RouterIdleTimeoutMS int                           `json:"routerIdleTimeoutMs"`
	MaxResultChars      int                           `json:"maxResultChars"`
	Retry               *originRetry                  `json:"retry"`
	ResultCache         *originCache                  `json:"resultCache"`
}

// originOnly are members that only mcp-bridge's files have. Some of them have no effect here.
var originOnly = []string{
	"connectionTimeoutMs", "requestTimeoutMs", "routerIdleTimeoutMs", "maxResultChars", "reconnectIntervalMs", "shutdownTimeoutMs",
	"routerConnectErrorCooldownMs", "routerMaxConcurrent", "maxBatchSize", "schemaCompression", "intentRouting", "adaptivePromotion",
	"resultCache", "http", "security", "debug",
}

type originServer struct {
	Transport      string                  `json:"transport"`
	Description    string                  `json:"description"`
	URL            string                  `json:"url"`
	Headers        jsondoc.Ordered[string] `json:"headers"`
	Auth           *recipe.TransportAuth   `json:"auth"`
	ConfigFiles    []recipe.ConfigFile     `json:"configFiles"`
	Command        string                  `json:"command"`
	Args           []string                `json:"args"`
	Env            jsondoc.Ordered[string] `json:"env"`
	Framing        string                  `json:"framing"`
	Trust          bridgeconfig.Trust      `json:"trust"`
	ToolFilter     bridgeconfig.Tools      `json:"toolFilter"`
	MaxResultChars int                     `json:"maxResultChars"`
	Retry          *originRetry            `json:"retry"`
}

type originRetry struct {
	MaxAttempts       int      `json:"maxAttempts"`
	DelayMS           int      `json:"delayMs"`
	BackoffMultiplier float64  `json:"backoffMultiplier"`
	RetryOn           []string `json:"retryOn"`
}

type originCache struct {
	Enabled      bool           `json:"enabled"`
	MaxEntries   int            `json:"maxEntries"`
	DefaultTTLMS int            `json:"defaultTtlMs"`
	CacheTTL     map[string]int `json:"cacheTtl"`
}

// defaultCacheTTL is mcp-bridge's default time to cache a result.
const defaultCacheTTL = 5 * time.Minute

// maxAttempts is the maximum number of attempts of a call.
const maxAttempts = 5

// readOrigin reads a configuration file of mcp-bridge.
func readOrigin(doc jsondoc.Value) (File, []jsondoc.Problem) {
	var o originFile
	problems := jsondoc.Decode(doc, &o)
	f := File{Mode: bridgeconfig.Router}
	if o.Mode != "" {
		f.Mode = bridgeconfig.Mode(o.Mode)
	}
	switch {
	case o.ToolPrefix.Kind == jsondoc.Bool && o.ToolPrefix.Text == "false":
		f.ToolPrefix = bridgeconfig.PrefixNever
	case o.ToolPrefix.Text == "auto":
		f.ToolPrefix = bridgeconfig.PrefixAuto
	}
	if o.ResultCache != nil && len(o.ResultCache.CacheTTL) > 0 {
		problems = append(problems, warning("resultCache.cacheTtl", "times for single tools have no effect"))
	}
	if o.ResultCache != nil && o.ResultCache.MaxEntries != 0 {
		problems = append(problems, warning("resultCache.maxEntries", "has no effect: the results that are kept are bounded in bytes"))
	}
	if o.Retry != nil {
		problems = append(problems, o.Retry.warnings("retry")...)
	}
	for _, e := range o.Servers {
		s, more := e.Value.server("servers."+e.Name, o)
		f.Servers = append(f.Servers, jsondoc.Entry[Server]{Name: e.Name, Value: s})
		problems = append(problems, more...)
	}
	return f, problems
}

func (s originServer) server(path string, o originFile) (Server, []jsondoc.Problem) {
	t := &translator{path: path}
	out := Server{
		Description: s.Description, Command: t.text("command", s.Command), URL: t.text("url", s.URL),
		Env: t.entries("env", s.Env), Headers: t.entries("headers", s.Headers),
		Tools: s.ToolFilter, Trust: s.Trust,
		Timeouts: bridgeconfig.Timeouts{Connect: ms(o.ConnectionTimeoutMS), Call: ms(o.RequestTimeoutMS), Idle: ms(o.RouterIdleTimeoutMS)},
	}
	for _, arg := range s.Args {
		out.Args = append(out.Args, t.text("args", arg))
	}
	switch s.Transport {
	case "stdio":
		out.URL, out.Headers = "", nil
	case "sse":
		out.Type = "sse"
	case "streamable-http":
	default:
		t.problems = append(t.problems, warning(path+".transport", "must be one of stdio, sse and streamable-http"))
		out.Command, out.URL = "", ""
	}
	for _, file := range s.ConfigFiles {
		// mcp-bridge does not replace these variables and leaves them to the program.
		out.Files = append(out.Files, entry(file.Name, strings.ReplaceAll(file.Content, "$", "$$")))
	}
	if s.Framing == "lsp" {
		t.problems = append(t.problems, warning(path+".framing", "messages are separated by line breaks, as MCP has it"))
	}
	s.policies(&out, t, o)
	if s.Auth != nil {
		s.auth(&out, t)
	}
	return out, t.problems
}

// policies converts the policies of calls. The server's own rules take precedence over the file's.
func (s originServer) policies(out *Server, t *translator, o originFile) {
	if out.MaxResultBytes = s.MaxResultChars; out.MaxResultBytes == 0 {
		out.MaxResultBytes = o.MaxResultChars
	}
	retry := o.Retry
	if s.Retry != nil {
		retry = s.Retry
		t.problems = append(t.problems, retry.warnings(t.path+".retry")...)
	}
	if retry != nil {
		out.Retry = bridgeconfig.Retry{MaxAttempts: min(retry.MaxAttempts, maxAttempts), Delay: ms(retry.DelayMS)}
	}
	if c := o.ResultCache; c != nil && c.Enabled {
		if out.CacheTTL = ms(c.DefaultTTLMS); out.CacheTTL == 0 {
			out.CacheTTL = bridgeconfig.Duration(defaultCacheTTL)
		}
	}
}

func (r *originRetry) warnings(path string) (w []jsondoc.Problem) {
	if r.BackoffMultiplier != 0 && r.BackoffMultiplier != 2 {
		w = append(w, warning(path+".backoffMultiplier", "the delay always doubles"))
	}
	if r.MaxAttempts > maxAttempts {
		w = append(w, warning(path+".maxAttempts", "is %d here", maxAttempts))
	}
	if r.RetryOn != nil {
		w = append(w, warning(path+".retryOn", "a call is repeated if it was not delivered or its tool says that this is safe"))
	}
	return w
}

func ms(n int) bridgeconfig.Duration {
	return bridgeconfig.Duration(time.Duration(n) * time.Millisecond)
}

// auth converts the authorization of requests.
func (s originServer) auth(out *Server, t *translator) {
	a := s.Auth
	switch a.Type {
	case "bearer":
		out.Headers = append(out.Headers, entry("Authorization", "Bearer "+t.text("auth.token", a.Token)))
	case "header":
		out.Headers = append(out.Headers, t.entries("auth.headers", a.Headers)...)
	case "oauth2":
		s.oauth(out, t)
	default:
		t.problems = append(t.problems, jsondoc.Problem{Path: t.path + ".auth.type", Message: "must be one of bearer, header and oauth2"})
	}
}

func (s originServer) oauth(out *Server, t *translator) {
	a := s.Auth
	out.Auth = &Auth{
		Grant: bridgeconfig.ClientCredentials, TokenURL: a.TokenURL, AuthorizationURL: a.AuthorizationURL,
		ClientID: t.text("auth.clientId", a.ClientID), ClientSecret: t.text("auth.clientSecret", a.ClientSecret), Scopes: a.Scopes,
	}
	switch a.GrantType {
	case "authorization_code":
		out.Auth.Grant = bridgeconfig.AuthorizationCode
		if a.ClientID == "" {
			out.Auth.ClientID = "${" + recipe.TokenSecret(t.path[len("servers."):]) + "_CLIENT}"
		}
		t.problems = append(t.problems, warning(t.path+".auth", "log in again with bridge login: its tokens are not carried over"))
	case "device_code":
		out.Auth = nil
		t.problems = append(t.problems, warning(t.path+".auth.grantType", "device_code is not supported: the server is asked without a token"))
	}
	if a.CallbackPort != 0 {
		t.problems = append(t.problems, warning(t.path+".auth.callbackPort", "is not used: any free port serves the login"))
	}
	if a.Audience != "" {
		t.problems = append(t.problems, warning(t.path+".auth.audience", "is not sent"))
	}
}
