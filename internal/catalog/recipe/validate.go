// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
)

const (
	// The longest texts, in characters, and the age from which a verification is
	// called old: mcp-bridge's rules.
	maxName        = 128
	maxDescription = 512
	oldAfter       = 90 * 24 * time.Hour
	// maxVariables is how many variables a recipe may name: as many as the API
	// has room for.
	maxVariables = 64
	// maxTransports and maxPlatforms are how many transports and operating
	// systems a recipe may have. Each platform is checked for each transport.
	// Recipes have one or two of either.
	maxTransports = 16
	maxPlatforms  = 16
	// maxSources is how many pages a recipe may name as its sources.
	maxSources = 8
	// maxNamed limits the name of a file or a variable, in bytes.
	maxNamed = 128
)

var (
	idPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*[a-z0-9]$`)
	filePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

	methods    = []string{"npx", "npm", "pip", "uvx", "docker", "binary", "go", "git"}
	authTypes  = []string{"", "api-key", "oauth2", "basic", "bearer", "custom", "none"}
	bootstraps = []string{"", "env-only", "interactive", "manual"}
	origins    = []string{"", "official", "community", "aiwerk"}
	effects    = []string{"", "read-only", "read-write", "billing-impact"}
	framings   = []string{"", "auto", "newline", "lsp"}
	checks     = []string{"", CheckedRead, CheckedCalled}
	grants     = []string{"", "client_credentials", authorizationCode, "device_code"}
	categories = []string{
		"productivity", "development", "communication", "data", "finance", "infrastructure", "analytics",
		"content", "search", "automation", "security", "ai", "other",
	}
)

// findings collects problems.
type findings struct{ jsondoc.Problems }

func (f *findings) wrong(path, format string, args ...any) {
	f.Add(jsondoc.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (f *findings) oneOf(path, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		f.wrong(path, "%.40q is not known: use one of %s", value, strings.Trim(strings.Join(allowed, ", "), ", "))
	}
}

// Validate returns the recipe's problems, as far as jsondoc.Problems keeps
// them.
func Validate(r Recipe) []jsondoc.Problem {
	var f findings
	if r.SchemaVersion != 2 {
		f.wrong("schemaVersion", "must be 2")
	}
	if len(r.ID) > 64 || !idPattern.MatchString(r.ID) {
		f.wrong("id", "must be 2 to 64 lower-case letters, digits and hyphens, with no hyphen at an end")
	}
	for _, text := range []struct {
		path, value string
		most        int
	}{{"name", r.Name, maxName}, {"description", r.Description, maxDescription}} {
		if n := utf8.RuneCountInString(text.value); n == 0 || n > text.most {
			f.wrong(text.path, "must have 1 to %d characters", text.most)
		}
	}
	if r.Repository == "" && r.Metadata.Homepage == "" {
		f.wrong("repository", "this or metadata.homepage is required")
	}
	f.sizes(r)
	if !Oversized(r) {
		for i, t := range r.Transports {
			f.transport(fmt.Sprintf("transports[%d]", i), t)
		}
		f.auth(r)
		f.install(r)
	}
	f.oneOf("metadata.origin", r.Metadata.Origin, origins)
	f.oneOf("metadata.sideEffects", r.Metadata.SideEffects, effects)
	f.sources(r.Metadata)
	f.icon(r.Metadata)
	return f.List()
}

func (f *findings) icon(m Metadata) {
	if _, err := PNG(m); err != nil {
		f.wrong("metadata.icon", "%s", err)
	}
}

// sources checks where the recipe's facts come from.
func (f *findings) sources(m Metadata) {
	f.oneOf("metadata.checked", m.Checked, checks)
	if n := len(m.Sources); n > maxSources {
		f.wrong("metadata.sources", "must be at most %d, and are %d", maxSources, n)
		return
	}
	for i, page := range m.Sources {
		if !remoteURL(page) || len(page) > maxDescription {
			f.wrong(fmt.Sprintf("metadata.sources[%d]", i), "must be an http or https URL of at most %d bytes", maxDescription)
		}
	}
}

// Oversized reports whether the recipe has more transports or platforms than
// allowed. They are not checked then: the work grows with their product.
func Oversized(r Recipe) bool {
	return len(r.Transports) > maxTransports || r.Install != nil && len(r.Install.Platforms) > maxPlatforms
}

func (f *findings) sizes(r Recipe) {
	switch n := len(r.Transports); {
	case n == 0:
		f.wrong("transports", "at least one is required")
	case n > maxTransports:
		f.wrong("transports", "must be at most %d, and are %d", maxTransports, n)
	}
	if i := r.Install; i != nil && len(i.Platforms) > maxPlatforms {
		f.wrong("install.platforms", "must be at most %d, and are %d", maxPlatforms, len(i.Platforms))
	}
}

func (f *findings) transport(path string, t Transport) {
	switch t.Type {
	case Stdio:
		if t.Command == "" {
			f.wrong(path+".command", "is required with type stdio")
		}
		if t.Auth != nil {
			f.wrong(path+".auth", "a program has no requests to authorize: give it its credentials by env")
		}
	case SSE, StreamableHTTP:
		if !remoteURL(t.URL) {
			f.wrong(path+".url", "must be an absolute http or https URL without credentials")
		}
	default:
		f.wrong(path+".type", "%.40q is not known: use one of stdio, streamable-http, sse", t.Type)
	}
	f.oneOf(path+".framing", t.Framing, framings)
	if t.Auth != nil {
		f.transportAuth(path+".auth", *t.Auth)
	}
}

// remoteURL reports whether s is a URL once its variables are filled in.
func remoteURL(s string) bool {
	u, err := url.Parse(variablePattern.ReplaceAllString(s, "v"))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

func (f *findings) transportAuth(path string, a TransportAuth) {
	switch a.Type {
	case "bearer":
		f.required(path+".token", a.Token)
	case "header":
		if len(a.Headers) == 0 {
			f.wrong(path+".headers", "is required with type header")
		}
	case "oauth2":
		f.oneOf(path+".grantType", a.GrantType, grants)
		if !Discovers(a) {
			f.required(path+".tokenUrl", a.TokenURL)
		}
		if a.GrantType == authorizationCode && !Discovers(a) {
			f.required(path+".authorizationUrl", a.AuthorizationURL)
		}
		if a.GrantType == "" || a.GrantType == "client_credentials" {
			f.required(path+".clientId", a.ClientID)
			f.required(path+".clientSecret", a.ClientSecret)
		}
	default:
		f.wrong(path+".type", "%.40q is not known: use one of bearer, header, oauth2", a.Type)
	}
}

func (f *findings) required(path, value string) {
	if value == "" {
		f.wrong(path, "is required")
	}
}

func (f *findings) auth(r Recipe) {
	var declared []string
	if a := r.Auth; a != nil {
		declared = a.EnvVars
		f.oneOf("auth.type", a.Type, authTypes)
		f.oneOf("auth.bootstrap", a.Bootstrap, bootstraps)
		if a.CredentialsURL != "" && !remoteURL(a.CredentialsURL) {
			f.wrong("auth.credentialsUrl", "must be an http or https URL")
		}
	}
	if len(declared) > maxVariables {
		f.wrong("auth.envVars", "must name at most %d variables", maxVariables)
		return
	}
	for i, t := range r.Transports {
		for _, text := range TextsOf(t) {
			for _, name := range appendVariables(nil, text.Value) {
				if !slices.Contains(declared, name) {
					f.wrong(fmt.Sprintf("transports[%d].%s", i, text.Name), "uses %s, which auth.envVars does not name", name)
				}
			}
		}
	}
}

func (f *findings) install(r Recipe) {
	i := r.Install
	if i == nil {
		if slices.ContainsFunc(r.Transports, func(t Transport) bool { return t.Type == Stdio }) {
			f.wrong("install", "is required with a transport over stdio")
		}
		return
	}
	f.oneOf("install.method", i.Method, methods)
	switch i.Method {
	case "npx", "npm", "pip", "uvx", "go":
		f.required("install.package", i.Package)
	case "docker":
		f.required("install.image", i.Image)
	case "git":
		f.required("install.repository", i.Repository)
	}
	for n, file := range i.ConfigFiles {
		if !named(file.Name, filePattern) {
			f.wrong(fmt.Sprintf("install.configFiles[%d].name", n), "must be a file's name without a folder")
		}
	}
	f.storage(*i)
	if i.ToolsHash != "" && !bridgeconfig.IsToolsHash(i.ToolsHash) {
		f.wrong("install.toolsHash", "must be sha256- and 64 hexadecimal digits")
	}
}

var (
	// sizePattern matches the quantities of Kubernetes that mean whole bytes.
	sizePattern = regexp.MustCompile(`^[1-9][0-9]{0,14}(Ki|Mi|Gi|Ti|k|M|G|T)?$`)
	// folderPattern and systemFolder are the rules of the API for a volume's folder.
	folderPattern = regexp.MustCompile(`^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$`)
	systemFolder  = regexp.MustCompile(`^/(bin|boot|dev|etc|hosted-bridge|hosted-bridge-bundles|hosted-bridge-files|hosted-bridge-image|lib|lib32|lib64|proc|run|sbin|sys|tmp|usr|var/run)(/|$)`)
	// environmentName and pathPattern are for the variables that name a path.
	environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	pathPattern     = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
)

// named reports whether the name of a file or a variable has the pattern and is not too long.
func named(name string, pattern *regexp.Regexp) bool {
	return len(name) <= maxNamed && pattern.MatchString(name)
}

// storage checks the volume that a program asks for.
func (f *findings) storage(i Install) {
	s := i.Storage
	if s == nil {
		return
	}
	if !sizePattern.MatchString(s.Size) {
		f.wrong("install.storage.size", "must be a number of bytes greater than 0, such as 100Mi or 1Gi")
	}
	if p := s.MountPath; p != "" && (len(p) > 256 || !folderPattern.MatchString(p) || systemFolder.MatchString(p)) {
		f.wrong("install.storage.mountPath", "must be an absolute path such as /data, and not in /tmp or a folder of the system such as /usr")
	}
	for _, p := range s.Paths {
		if !named(p.Name, environmentName) || len(p.Value) > 256 || !pathPattern.MatchString(p.Value) {
			f.wrong(fmt.Sprintf("install.storage.paths.%.40s", p.Name), "must be a variable with a path in the volume, such as memory.jsonl, that begins with no slash and has no . or ..")
		}
	}
}

// Warnings returns oddities of a valid recipe that a person should check before
// it is installed.
func Warnings(r Recipe, now time.Time) []string {
	var w []string
	if verified, err := time.Parse(time.DateOnly, r.Metadata.LastVerified); err == nil && now.Sub(verified) > oldAfter {
		w = append(w, "metadata.lastVerified is older than 90 days")
	}
	if c := r.Metadata.Category; c != "" && !slices.Contains(categories, c) {
		w = append(w, fmt.Sprintf("metadata.category %.40q is not a known one", c))
	}
	if r.Metadata.Maturity == "deprecated" {
		w = append(w, "the recipe is deprecated")
	}
	return slices.Concat(w, installWarnings(r.Install, r.Metadata.Origin), skillWarnings(r.Skill))
}

// maxWarnings is how many warnings of one kind are given.
const maxWarnings = 20

func installWarnings(i *Install, origin string) []string {
	if i == nil {
		return nil
	}
	var w []string
	if n := len(i.PreInstall) + len(i.PostInstall); n > 0 {
		w = append(w, fmt.Sprintf("%d commands of install.preInstall and postInstall are not run; read them", n))
	}
	if i.Method != "git" && (i.Version == "" || i.Version == "latest") {
		w = append(w, "install.version does not name one version: what runs may change at any time")
	}
	if origin == "official" && strings.HasPrefix(i.Package, "@modelcontextprotocol/") {
		w = append(w, "metadata.origin is official, but the package is the reference implementation's")
	}
	return w
}

func skillWarnings(s *Skill) []string {
	if s == nil {
		return nil
	}
	gotchas := incomplete("skill.gotchas[%d] needs an id and a summary", s.Gotchas, func(g recipefile.RecipeGotcha) bool {
		return g.ID == "" || g.Summary == ""
	})
	return append(gotchas, incomplete("skill.workflows[%d] needs an id, a name and steps", s.Workflows, func(flow recipefile.RecipeWorkflow) bool {
		return flow.ID == "" || flow.Name == "" || len(flow.Steps) == 0
	})...)
}

// incomplete warns of the items of a list that lack something. Those beyond
// maxWarnings are counted.
func incomplete[T any](warning string, list []T, lacks func(T) bool) []string {
	var w []string
	more := 0
	for i, item := range list {
		switch {
		case !lacks(item):
		case len(w) < maxWarnings:
			w = append(w, fmt.Sprintf(warning, i))
		default:
			more++
		}
	}
	if more > 0 {
		w = append(w, fmt.Sprintf("and %d more of them", more))
	}
	return w
}
