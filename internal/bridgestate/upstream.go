// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// StdioFolder is where the bridge's container has a folder for each of its
	// servers over stdio, of the server's name. The server's own container has
	// that one folder here, under no further name.
	StdioFolder = "/var/run/hosted-bridge/stdio"
	// StdioPrefix begins the names of the container and of the volume of a server
	// over stdio.
	StdioPrefix = "stdio-"
	// StdioSocket is the name of the socket in that folder. With the longest
	// name of a server its path has 71 bytes, of the 107 that Linux takes.
	StdioSocket = "shim.sock"
	// configurationLimit is how long an encoded configuration may be, in bytes.
	// Kubernetes accepts 1 MiB for all of a ConfigMap's keys and values.
	configurationLimit = 1000 << 10
)

// Configuration returns the bridge's configuration. egress is where its
// connections may go, and loginURL the public URL at which people log in, empty
// if they cannot.
func Configuration(b *effective.Bridge, egress bridgeconfig.Egress, loginURL string) bridgeconfig.Config {
	c := bridgeconfig.Config{
		UserID:         string(b.User()),
		BridgeUID:      string(b.UID),
		Mode:           modes[b.Spec.Mode],
		ToolPrefix:     prefixes[b.Spec.ToolPrefix],
		ToolNameLength: int(*cmp.Or(b.Spec.ToolNameLength, defaultToolNameLength(b))),
		StatusTool:     statusTools[b.Spec.StatusTool],
		Egress:         egress,
	}
	faults := faults(b)
	for _, server := range Servers(b) {
		s := told(server)
		s.Fault = faults[server.Name]
		if loginURL != "" && Connects(server) {
			s.ConnectURL = v1alpha1.ConnectURL(loginURL, b.User(), server.Name)
		}
		c.Servers = append(c.Servers, s)
	}
	c.LeftOut = len(b.Spec.Servers) - len(c.Servers)
	setNames(&c, b)
	return c
}

// defaultToolNameLength returns the toolNameLength of a bridge whose spec has none: the one that was
// the default when the bridge was new, since clients know its tools by their names.
func defaultToolNameLength(b *effective.Bridge) *int32 {
	return cmp.Or(b.Status.DefaultToolNameLength, new(int32(bridgeconfig.DefaultToolNameLength)))
}

// Connects reports whether the user can connect the account that the server is
// used with: the login page is known, a browser may be sent there, and the
// server may use the secret that stores the login.
func Connects(server Server) bool {
	o := server.OAuth
	return o != nil && o.Grant == bridgeconfig.AuthorizationCode && isPage(o.AuthorizationURL) && slices.Contains(server.Secrets, o.Token)
}

// isPage reports whether a browser may be sent to raw. The API's rules say the
// same, but recipes do not pass them.
func isPage(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// told returns the bridge's configuration of one of its servers. It omits the
// page where its user logs in: the bridge does not need it, and a login
// continues when that page moves.
func told(server Server) bridgeconfig.Server {
	s := server.Server
	if s.Transport == bridgeconfig.StreamableHTTP {
		s.Transport = "" // The bridge's default.
	}
	if s.OAuth != nil {
		login := *s.OAuth
		login.AuthorizationURL = ""
		s.OAuth = &login
	}
	return s
}

// The bridge's terms for those of the API. The bridge's defaults are left out,
// so that a configuration shows what is special.
var (
	modes       = map[v1alpha1.Mode]bridgeconfig.Mode{v1alpha1.ModeRouter: bridgeconfig.Router}
	prefixes    = map[v1alpha1.ToolPrefix]bridgeconfig.Prefix{v1alpha1.ToolPrefixAuto: bridgeconfig.PrefixAuto, v1alpha1.ToolPrefixNever: bridgeconfig.PrefixNever}
	statusTools = map[v1alpha1.StatusTool]bridgeconfig.StatusTool{v1alpha1.StatusToolNever: bridgeconfig.StatusNever}
	transports  = map[v1alpha1.TransportType]bridgeconfig.Transport{v1alpha1.TransportSSE: bridgeconfig.SSE, v1alpha1.TransportStdio: bridgeconfig.Stdio}
	trusts      = map[v1alpha1.Trust]bridgeconfig.Trust{v1alpha1.TrustUntrusted: bridgeconfig.Untrusted, v1alpha1.TrustSanitize: bridgeconfig.Sanitize}
	grants      = map[v1alpha1.OAuthGrant]bridgeconfig.Grant{
		v1alpha1.OAuthClientCredentials: bridgeconfig.ClientCredentials, v1alpha1.OAuthAuthorizationCode: bridgeconfig.AuthorizationCode,
	}
)

// Upstream returns a server of the API in the bridge's form. The names of its
// secrets are a set, so another order changes nothing.
func Upstream(server v1alpha1.Server) bridgeconfig.Server {
	s := bridgeconfig.Server{
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
		s.Headers = append(s.Headers, bridgeconfig.Header{Name: h.Name, Value: h.Value})
	}
	for _, name := range server.Secrets {
		s.Secrets = append(s.Secrets, string(name))
	}
	slices.Sort(s.Secrets)
	if f := server.Tools; f != nil {
		s.Tools = bridgeconfig.Tools{Allow: f.Allow, Deny: f.Deny}
	}
	if t := server.Timeouts; t != nil {
		s.Timeouts = bridgeconfig.Timeouts{Connect: duration(t.Connect), Call: duration(t.Call), Idle: duration(t.Idle)}
	}
	if r := server.Retry; r != nil {
		s.Retry = bridgeconfig.Retry{MaxAttempts: int(ptr.Deref(r.MaxAttempts, 0)), Delay: duration(r.Delay)}
	}
	return s
}

// login returns how the bridge gets its token.
func login(auth *v1alpha1.Auth) *bridgeconfig.OAuth {
	if auth == nil || auth.OAuth == nil {
		return nil
	}
	o := auth.OAuth
	return &bridgeconfig.OAuth{
		Grant:            grants[o.Grant],
		TokenURL:         o.TokenURL,
		AuthorizationURL: o.AuthorizationURL,
		ClientID:         o.ClientID,
		ClientSecret:     string(o.ClientSecret),
		Token:            string(o.TokenSecret),
		Scopes:           o.Scopes,
		Resource:         o.Resource,
	}
}

// program returns what the shim in the server's container runs.
func program(server v1alpha1.Server) *bridgeconfig.Program {
	stdio := server.Transport.Stdio
	if stdio == nil {
		return nil
	}
	p := &bridgeconfig.Program{
		Socket:  socket(server.Name),
		Command: append(command(stdio), stdio.Args...),
	}
	for _, v := range stdio.Env {
		p.Env = append(p.Env, bridgeconfig.Variable{Name: v.Name, Value: v.Value})
	}
	for _, f := range stdio.Files {
		p.Files = append(p.Files, bridgeconfig.File{Name: f.Name, Content: f.Content})
	}
	return p
}

// socket returns where the bridge reaches the shim of the server's program.
func socket(server string) string { return StdioFolder + "/" + server + "/" + StdioSocket }

func command(stdio *v1alpha1.Stdio) []string {
	if len(stdio.Command) > 0 || stdio.Install == nil {
		return slices.Clone(stdio.Command)
	}
	exact := stdio.Install.Package + "@" + stdio.Install.Version
	if stdio.Install.Method == v1alpha1.InstallUVX {
		return []string{"uvx", exact}
	}
	return []string{"npx", "-y", exact} // Nobody can confirm the download.
}

func duration(d *metav1.Duration) bridgeconfig.Duration {
	return bridgeconfig.Duration(ptr.Deref(d, metav1.Duration{}).Duration)
}

// serverIsValid is the check that the bridge takes the server. The checks before
// have the better messages.
func serverIsValid(server Server) Finding {
	c := bridgeconfig.Config{UserID: "user", BridgeUID: "bridge", Servers: []bridgeconfig.Server{told(server)}}
	if err := c.Validate(); err != nil {
		return Finding{v1alpha1.ReasonInvalidServer, fmt.Sprintf("spec.servers[%d]: %s", server.Index, strings.TrimPrefix(err.Error(), "bridge configuration: "))}
	}
	return Finding{}
}

// configurationFits is the check that the bridge takes its servers together.
func configurationFits(o Observed) Finding {
	encoded, err := Configuration(o.Bridge, bridgeconfig.Egress{}, "").Encode()
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
