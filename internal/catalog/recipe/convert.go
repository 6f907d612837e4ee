// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// Choice has the settings of the person who installs the recipe.
type Choice struct {
	// Name is the server's. Empty means the recipe's id.
	Name string
	// Transport is the only acceptable type. Empty means the first type of
	// Order that the recipe has and that can be converted.
	Transport TransportType
	// Order ranks the transports, the best first. Empty means mcp-bridge's rule
	// for a personal machine: stdio, which works without a network and in a
	// process of its own, then streamable HTTP, then SSE.
	Order []TransportType
	// NoLogin leaves out transports that need a person's login.
	NoLogin bool
	// Platform is the operating system by its Node.js name.
	Platform string
	// Dir is where the program was built, for the method git.
	Dir string
	// Volumes means that the program gets the volume that install.storage asks for.
	Volumes bool
}

var defaultOrder = []TransportType{Stdio, StreamableHTTP, SSE}

// Conversion is the result of converting a recipe.
type Conversion struct {
	// Server is the configuration. Its URL and its OAuth client's id may name
	// variables, if the recipe's do; the person who runs it fills them in.
	Server bridgeconfig.Server
	// Secrets are the values that the user must provide.
	Secrets []Secret
	// Steps are what a person must do first, in their order.
	Steps []string
	// Warnings are parts that could not be converted, and oddities.
	Warnings []string
}

// Secret is a value that the server needs.
type Secret struct {
	Name string
	// Optional says that the server works without it.
	Optional bool
	// Login means that it comes from a login and is not asked for.
	Login bool
	// URL is where a person gets it, empty if that is not known.
	URL string
}

// Convert returns the configuration by which a bridge runs the recipe's server.
func Convert(r Recipe, c Choice) (Conversion, error) {
	order := c.Order
	if c.Transport != "" {
		order = []TransportType{c.Transport}
	} else if len(order) == 0 {
		order = defaultOrder
	}
	var refusals []error
	for _, kind := range order {
		for i, t := range r.Transports {
			if t.Type != kind || c.NoLogin && t.Auth != nil && t.Auth.GrantType == authorizationCode {
				continue
			}
			conversion, err := convert(r, c, t)
			if err == nil {
				return conversion, nil
			}
			refusals = append(refusals, fmt.Errorf("transports[%d]: %w", i, err))
		}
	}
	if len(refusals) == 0 {
		return Conversion{}, errors.New("the recipe has no transport of the kind that is asked for")
	}
	return Conversion{}, fmt.Errorf("the recipe cannot be installed: %w", errors.Join(refusals...))
}

// converter writes one transport as a server.
type converter struct {
	recipe Recipe
	choice Choice
	out    Conversion
	// all are the secrets that are named; required are those without a default.
	required, all []string
	// port is the one to which a login's browser must come back, 0 for any.
	port int
}

func convert(r Recipe, c Choice, t Transport) (Conversion, error) {
	w := &converter{recipe: r, choice: c}
	w.out.Server = bridgeconfig.Server{Name: r.ID, Description: r.Description}
	if c.Name != "" {
		w.out.Server.Name = c.Name
	}
	var err error
	if t.Type == Stdio {
		err = w.program(t)
	} else {
		err = w.remote(t)
	}
	if err != nil {
		return Conversion{}, err
	}
	w.finish()
	return w.out, nil
}

func (w *converter) warn(format string, args ...any) {
	w.out.Warnings = append(w.out.Warnings, fmt.Sprintf(format, args...))
}

// text translates one text and notes its secrets.
func (w *converter) text(s string) string {
	translated, secrets := Translate(s)
	for _, name := range secrets {
		if !slices.Contains(w.all, name) {
			w.all = append(w.all, name)
		}
	}
	for _, m := range variablePattern.FindAllStringSubmatch(s, -1) {
		if name := SecretName(m[1]); m[2] == "" && name != configDir && !slices.Contains(w.required, name) {
			w.required = append(w.required, name)
		}
	}
	return translated
}

// finish grants the server its secrets, and reports those of the recipe that no
// text uses.
func (w *converter) finish() {
	s := &w.out.Server
	login := ""
	if o := s.OAuth; o != nil && o.Token != "" {
		login = o.Token
		w.all, w.required = append(w.all, login), append(w.required, login)
		step := "log in with: bridge login " + s.Name
		if w.port != 0 {
			step += fmt.Sprintf(" --port %d", w.port)
		}
		w.out.Steps = append(w.out.Steps, step)
	}
	s.Secrets = w.all
	var from string
	var declared []string
	if a := w.recipe.Auth; a != nil {
		from, declared = a.CredentialsURL, a.EnvVars
	}
	for _, name := range w.all {
		w.out.Secrets = append(w.out.Secrets, Secret{Name: name, Optional: !slices.Contains(w.required, name), Login: name == login, URL: from})
	}
	for _, name := range declared {
		if !slices.Contains(w.all, SecretName(name)) {
			w.warn("auth.envVars names %s, which this transport does not use", name)
		}
	}
	if h := w.recipe.Install; h != nil && h.ToolsHash != "" {
		w.out.Steps = append(w.out.Steps, "check the tools against the audited ones with: bridge status")
	}
}

// remote converts a transport over HTTP.
func (w *converter) remote(t Transport) error {
	s := &w.out.Server
	s.Transport, s.URL = bridgeconfig.Transport(t.Type), t.URL
	w.text(t.URL)
	for _, h := range t.Headers {
		s.Headers = append(s.Headers, bridgeconfig.Header{Name: h.Name, Value: w.text(h.Value)})
	}
	if t.Auth != nil {
		return w.auth(*t.Auth)
	}
	return nil
}

func (w *converter) auth(a TransportAuth) error {
	switch a.Type {
	case "bearer":
		return w.header("Authorization", "Bearer "+a.Token)
	case "header":
		for _, h := range a.Headers {
			if err := w.header(h.Name, h.Value); err != nil {
				return err
			}
		}
		return nil
	default:
		return w.oauth(a)
	}
}

// header adds one of the headers for authorization. It may not have another
// value elsewhere.
func (w *converter) header(name, value string) error {
	translated := w.text(value)
	for _, h := range w.out.Server.Headers {
		if !strings.EqualFold(h.Name, name) {
			continue
		}
		if h.Value != translated {
			return fmt.Errorf("headers and auth both set %s", name)
		}
		return nil
	}
	w.out.Server.Headers = append(w.out.Server.Headers, bridgeconfig.Header{Name: name, Value: translated})
	return nil
}

func (w *converter) oauth(a TransportAuth) error {
	o := &bridgeconfig.OAuth{Grant: bridgeconfig.ClientCredentials, TokenURL: a.TokenURL, ClientID: a.ClientID, Scopes: a.Scopes}
	switch a.GrantType {
	case "device_code":
		return errors.New("the OAuth grant device_code is not supported: use another transport, or a token in a header")
	case authorizationCode:
		o.Grant, o.AuthorizationURL = bridgeconfig.AuthorizationCode, a.AuthorizationURL
		o.Token = TokenSecret(w.out.Server.Name)
		if o.ClientID == "" && !Discovers(a) {
			o.ClientID = "${" + SecretName(w.recipe.ID+"-client-id") + "}"
		}
	}
	w.text(o.ClientID)
	if a.ClientSecret != "" {
		_, secrets := Translate(a.ClientSecret)
		if len(secrets) != 1 || variablePattern.FindString(a.ClientSecret) != a.ClientSecret {
			return errors.New("auth.clientSecret must be one variable and nothing else: a recipe is public")
		}
		w.text(a.ClientSecret)
		o.ClientSecret = secrets[0]
	}
	if a.Audience != "" {
		w.warn("auth.audience is not sent: the authorization server may refuse")
	}
	w.port = a.CallbackPort
	w.out.Server.OAuth = o
	return nil
}

// TokenSecret returns the name of the secret with the tokens of a login for the
// server of this name.
func TokenSecret(server string) string {
	name := "OAUTH_" + variableName(server)
	return name[:min(len(name), 64)]
}

// program converts a transport over stdio.
func (w *converter) program(t Transport) error {
	i := w.recipe.Install
	if i == nil {
		return errors.New("a program needs install")
	}
	if p, ok := i.Platforms[w.choice.Platform]; ok {
		t = Over(p, t)
	}
	if t.Framing == "lsp" {
		return errors.New("the framing lsp is not MCP's, which separates messages by line breaks")
	}
	command, err := w.command(*i, t)
	if err != nil {
		return err
	}
	p := &bridgeconfig.Program{Dir: w.dir(*i)}
	if s := i.Storage; s != nil && w.choice.Volumes {
		p.Storage = &bridgeconfig.Storage{Size: s.Size, MountPath: s.MountPath}
		t.Env = withPaths(t.Env, *s)
	}
	for _, word := range command {
		p.Command = append(p.Command, w.text(word))
	}
	for _, e := range t.Env {
		p.Env = append(p.Env, bridgeconfig.Variable{Name: e.Name, Value: w.text(e.Value)})
	}
	for _, f := range i.ConfigFiles {
		// The program itself fills in the variables in these files.
		p.Files = append(p.Files, bridgeconfig.File{Name: f.Name, Content: escape(f.Content)})
	}
	w.out.Server.Transport, w.out.Server.Program = bridgeconfig.Stdio, p
	w.bindings(t)
	return nil
}

// Over returns the transport with the differences of the platform.
func Over(p Platform, t Transport) Transport {
	if p.Command != "" {
		t.Command = p.Command
	}
	if p.Args != nil {
		t.Args = p.Args
	}
	env := slices.Clone(t.Env)
	for _, e := range p.Env {
		env = slices.DeleteFunc(env, func(old jsondoc.Entry[string]) bool { return old.Name == e.Name })
		env = append(env, e)
	}
	t.Env = env
	return t
}

// bindings warns about tokens that mcp-bridge would pass to a program.
func (w *converter) bindings(t Transport) {
	a := w.recipe.Auth
	if a == nil || a.OAuth2 == nil {
		return
	}
	if name := a.OAuth2.EnvBinding; name != "" {
		if _, there := t.Env.Get(name); !there {
			w.out.Server.Program.Env = append(w.out.Server.Program.Env, bridgeconfig.Variable{Name: name, Value: w.text("${" + name + "}")})
		}
		w.warn("auth.oauth2.envBinding: the token in %s is not renewed: set it again when it has expired", name)
	}
	if a.OAuth2.CredentialsFileType != "" {
		w.warn("auth.oauth2.credentialsFileType: no credentials file is written; log in with the program's own means")
	}
}

func (w *converter) dir(i Install) string {
	if i.Method == "git" {
		return w.choice.Dir
	}
	return ""
}
