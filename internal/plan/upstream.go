// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

const (
	// StdioFolder is where the bridge's container has a folder for each of its
	// servers over stdio, of the server's name. The server's own container has
	// that one folder here, under no further name.
	StdioFolder = "/var/run/hosted-bridge/stdio"
	// StdioSocket is the name of the socket in that folder. With the longest
	// name of a server its path has 71 bytes, of the 107 that Linux takes.
	StdioSocket = "shim.sock"
	// configurationLimit is how long an encoded configuration may be, in bytes.
	// Kubernetes takes 1 MiB for all of a ConfigMap's keys and values.
	configurationLimit = 1000 << 10
)

// Configuration returns what the bridge is told. egress is where its
// connections may go, and loginURL the public URL at which people log in, empty
// where they cannot.
func Configuration(b *v1alpha1.HostedBridge, egress config.Egress, loginURL string) config.Config {
	c := config.Config{
		UserID:     string(b.User()),
		BridgeUID:  string(b.UID),
		Mode:       modes[b.Spec.Mode],
		ToolPrefix: prefixes[b.Spec.ToolPrefix],
		Egress:     egress,
	}
	for _, server := range b.Spec.Servers {
		if outOfUse(server) {
			continue
		}
		s := told(b, server)
		if loginURL != "" && Connects(server) {
			s.ConnectURL = v1alpha1.ConnectURL(loginURL, b.User(), server.Name)
		}
		c.Servers = append(c.Servers, s)
	}
	return c
}

// Connects reports whether the user can connect the account that the server is
// used with: it is known where they log in, a browser may be sent there, and the
// server may use the secret that the login is kept in.
func Connects(server v1alpha1.Server) bool {
	if server.Auth == nil || server.Auth.OAuth == nil {
		return false
	}
	o := server.Auth.OAuth
	return o.Grant == v1alpha1.OAuthAuthorizationCode && isPage(o.AuthorizationURL) && slices.Contains(server.Secrets, o.TokenSecret)
}

// isPage reports whether a browser may be sent to raw. The API's rules say the
// same; a recipe comes by another way.
func isPage(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// told returns what the bridge is told of one of its servers. What tools were
// audited only a recipe says.
func told(b *v1alpha1.HostedBridge, server v1alpha1.Server) config.Server {
	s := Upstream(server)
	if said, ok := saidOf(b, server); ok {
		s.ToolsHash = said.ToolsHash
	}
	return s
}

// The bridge's words for those of the API. What is the bridge's default is left
// out, so that a configuration says what is special.
var (
	modes      = map[v1alpha1.Mode]config.Mode{v1alpha1.ModeRouter: config.Router}
	prefixes   = map[v1alpha1.ToolPrefix]config.Prefix{v1alpha1.ToolPrefixAuto: config.PrefixAuto, v1alpha1.ToolPrefixNever: config.PrefixNever}
	transports = map[v1alpha1.TransportType]config.Transport{v1alpha1.TransportSSE: config.SSE, v1alpha1.TransportStdio: config.Stdio}
	trusts     = map[v1alpha1.Trust]config.Trust{v1alpha1.TrustUntrusted: config.Untrusted, v1alpha1.TrustSanitize: config.Sanitize}
	grants     = map[v1alpha1.OAuthGrant]config.Grant{
		v1alpha1.OAuthClientCredentials: config.ClientCredentials, v1alpha1.OAuthAuthorizationCode: config.AuthorizationCode,
	}
)

// Upstream returns what the bridge is told of a server. The names of its
// secrets are a set, so that one that is only written in another order changes
// nothing.
func Upstream(server v1alpha1.Server) config.Server {
	s := config.Server{
		Name:            server.Name,
		Description:     server.Description,
		Transport:       transports[server.Transport.Type],
		URL:             server.Transport.URL,
		OAuth:           login(server.Auth),
		Program:         program(server),
		ProtocolVersion: server.Transport.ProtocolVersion,
		NoListening:     server.Transport.DisableListening,
		Trust:           trusts[server.Trust],
		CacheTTL:        duration(server.CacheTTL),
		MaxResultBytes:  int(ptr.Deref(server.MaxResultBytes, 0)),
	}
	for _, h := range server.Transport.Headers {
		s.Headers = append(s.Headers, config.Header{Name: h.Name, Value: h.Value})
	}
	for _, name := range server.Secrets {
		s.Secrets = append(s.Secrets, string(name))
	}
	slices.Sort(s.Secrets)
	if f := server.Tools; f != nil {
		s.Tools = config.Tools{Allow: f.Allow, Deny: f.Deny}
	}
	if t := server.Timeouts; t != nil {
		s.Timeouts = config.Timeouts{Connect: duration(t.Connect), Call: duration(t.Call), Idle: duration(t.Idle)}
	}
	if r := server.Retry; r != nil {
		s.Retry = config.Retry{MaxAttempts: int(ptr.Deref(r.MaxAttempts, 0)), Delay: duration(r.Delay)}
	}
	return s
}

// login returns how the bridge gets its token. Where its user logs in it need
// not know, and does not: a login goes on when that page moves.
func login(auth *v1alpha1.Auth) *config.OAuth {
	if auth == nil || auth.OAuth == nil {
		return nil
	}
	o := auth.OAuth
	return &config.OAuth{
		Grant:        grants[o.Grant],
		TokenURL:     o.TokenURL,
		ClientID:     o.ClientID,
		ClientSecret: string(o.ClientSecret),
		Token:        string(o.TokenSecret),
		Scopes:       o.Scopes,
		Resource:     o.Resource,
	}
}

// program returns what the shim in the server's container runs.
func program(server v1alpha1.Server) *config.Program {
	stdio := server.Transport.Stdio
	if stdio == nil {
		return nil
	}
	p := &config.Program{
		Socket:  StdioFolder + "/" + server.Name + "/" + StdioSocket,
		Command: append(command(stdio), stdio.Args...),
	}
	for _, v := range stdio.Env {
		p.Env = append(p.Env, config.Variable{Name: v.Name, Value: v.Value})
	}
	for _, f := range stdio.Files {
		p.Files = append(p.Files, config.File{Name: f.Name, Content: f.Content})
	}
	return p
}

func command(stdio *v1alpha1.Stdio) []string {
	if len(stdio.Command) > 0 || stdio.Install == nil {
		return slices.Clone(stdio.Command)
	}
	exact := stdio.Install.Package + "@" + stdio.Install.Version
	if stdio.Install.Method == v1alpha1.InstallUVX {
		return []string{"uvx", exact}
	}
	return []string{"npx", "-y", exact} // Nobody is there to confirm the download.
}

func duration(d *metav1.Duration) config.Duration {
	return config.Duration(ptr.Deref(d, metav1.Duration{}).Duration)
}

// serversAreValid is the check that the bridge takes each server, and all of
// them together. The checks before have the better messages.
func serversAreValid(o Observed) Finding {
	whole := Configuration(o.Bridge, config.Egress{}, "")
	for i, server := range o.Bridge.Spec.Servers {
		if outOfUse(server) {
			continue
		}
		one := whole
		one.Servers = []config.Server{told(o.Bridge, server)}
		if err := one.Validate(); err != nil {
			return Finding{v1alpha1.ReasonInvalidServer, fmt.Sprintf("spec.servers[%d]: %s", i, strings.TrimPrefix(err.Error(), "bridge configuration: "))}
		}
	}
	encoded, err := whole.Encode()
	if err != nil {
		return Finding{v1alpha1.ReasonInvalidServer, "spec.servers: " + strings.TrimPrefix(err.Error(), "bridge configuration: ")}
	}
	if len(encoded) > configurationLimit {
		return Finding{v1alpha1.ReasonInvalidServer, fmt.Sprintf(
			"spec.servers: all servers together are %d bytes of configuration; it must be at most %d, so put large files into an image",
			len(encoded), configurationLimit)}
	}
	return Finding{}
}
