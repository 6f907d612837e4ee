// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var (
	// exact is how an installer writes one version and no range: npm takes 1.2 for
	// any 1.2.x, and git takes a branch for whatever it points to.
	exact = map[string]*regexp.Regexp{
		"npx": semver, "npm": semver,
		"uvx": pep440, "pip": pep440,
		"go":     regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`),
		"binary": regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]+)?$`),
		"git":    regexp.MustCompile(`^([0-9a-f]{40}|v?[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]+)?)$`),
	}
	semver = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)
	pep440 = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?$`)
	// exactImage is an image with a tag that is a version, or a digest.
	exactImage = regexp.MustCompile(`^[^@\s]+(@sha256:[0-9a-f]{64}|:v?[0-9][0-9A-Za-z._-]*(@sha256:[0-9a-f]{64})?)$`)

	// shells run whatever they are given.
	shells = []string{"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "env", "eval", "sudo", "xargs"}

	// credential finds what the large services' keys look like, a bearer token
	// that is written out, and our own keys.
	credential = regexp.MustCompile(`\b(gh[opsur]_[0-9A-Za-z]{20,}|github_pat_[0-9A-Za-z_]{20,}|glpat-[0-9A-Za-z_-]{16,}|sk-[0-9A-Za-z_-]{20,}|xox[abprs]-[0-9A-Za-z-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hb_[0-9A-Za-z]{8,32}_[0-9A-Za-z]{16,}|pub_[0-9A-Za-z]{8,32}_[0-9A-Za-z]{16,}|eyJ[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{8,}\.)`)
	bearer     = regexp.MustCompile(`(?i)^\s*(bearer|basic|token)\s+[^\s$]{8,}$`)
)

// pinned refuses what may be another program tomorrow, and a command that runs
// another one than install says and was looked at.
func (p *problems) pinned(r recipe.Recipe) {
	i := r.Install
	if i == nil {
		return
	}
	p.source(*i)
	systems := slices.Sorted(maps.Keys(i.Platforms))
	for n, t := range r.Transports {
		if t.Type == recipe.Stdio {
			p.runs(fmt.Sprintf("transports[%d]", n), *i, t)
			p.elsewhere(systems, *i, t)
		}
	}
}

// source refuses an install that does not name one package in one version.
func (p *problems) source(i recipe.Install) {
	if i.Method == "docker" {
		if i.Image != "" && !exactImage.MatchString(i.Image) {
			p.add("install.image", CodeUnpinned, "must end in a tag that is a version, or in a digest")
		}
	} else if pattern, known := exact[i.Method]; known && !pattern.MatchString(i.Version) {
		p.add("install.version", CodeUnpinned, "must be one version, such as 1.2.3, and with git a tag or a commit's 40 digits")
	}
	if pattern, known := registered[i.Method]; known && i.Package != "" && !pattern.MatchString(i.Package) {
		p.add("install.package", CodeUnpinned, "must be the name of a package in the registry of %s, and nothing else", i.Method)
	}
}

// safe refuses commands beside the server's own, credentials, and remote servers
// that anyone on the way could replace.
func (p *problems) safe(r recipe.Recipe) {
	p.plain(r)
	for _, use := range r.Undeclared() {
		p.add(use.Name, CodeInvalid, "uses %.64s, which auth.envVars does not name", use.Value)
	}
	if i := r.Install; i != nil {
		if len(i.PreInstall) > 0 {
			p.add("install.preInstall", CodeHook, "the catalog takes no commands that an installer would run")
		}
		if len(i.PostInstall) > 0 {
			p.add("install.postInstall", CodeHook, "the catalog takes no commands that an installer would run")
		}
		for _, name := range slices.Sorted(maps.Keys(i.Platforms)) {
			platform := i.Platforms[name]
			p.command("install.platforms."+name, recipe.Transport{Command: platform.Command, Args: platform.Args, Env: platform.Env})
		}
		for n, file := range i.ConfigFiles {
			p.secret(fmt.Sprintf("install.configFiles[%d].content", n), file.Content)
		}
	}
	for n, t := range r.Transports {
		field := fmt.Sprintf("transports[%d]", n)
		p.command(field, t)
		if !r.Metadata.SelfHosted {
			p.encrypted(field, t)
		}
		p.remote(field, t)
	}
}

// encrypted refuses plain HTTP to the server, and to the one that gives out its
// tokens and is sent what they are given for.
func (p *problems) encrypted(field string, t recipe.Transport) {
	refuse := func(field, url string) {
		if scheme, _, _ := strings.Cut(url, "://"); url != "" && !strings.EqualFold(scheme, "https") {
			p.add(field, CodePlainHTTP, "must begin with https://, unless metadata.selfHosted says that it is a server of the user's own")
		}
	}
	if t.Type != recipe.Stdio {
		refuse(field+".url", t.URL)
	}
	if a := t.Auth; a != nil {
		refuse(field+".auth.tokenUrl", a.TokenURL)
		refuse(field+".auth.authorizationUrl", a.AuthorizationURL)
		refuse(field+".auth.deviceAuthorizationUrl", a.DeviceAuthorizationURL)
	}
}

// isShell reports whether a command runs whatever it is given, or is a line of a
// shell itself.
func isShell(command string) bool {
	return slices.Contains(shells, programOf(command)) || strings.ContainsAny(command, " ;|&`\n")
}

// programOf returns a command without its folders.
func programOf(command string) string {
	return strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
}

// command refuses shells, and credentials in what a program is started with.
func (p *problems) command(field string, t recipe.Transport) {
	command := programOf(t.Command)
	if isShell(t.Command) {
		p.add(field+".command", CodeShell, "must be the program itself and no shell: give its arguments in args")
	}
	if command == "npx" || command == "npx.cmd" {
		if slices.ContainsFunc(t.Args, func(a string) bool { return a == "-c" || strings.HasPrefix(a, "--call") }) {
			p.add(field+".args", CodeShell, "must not have npx run a line of a shell")
		}
	}
	for n, arg := range t.Args {
		p.secret(fmt.Sprintf("%s.args[%d]", field, n), arg)
	}
	for _, e := range t.Env {
		p.secret(field+".env."+e.Name, e.Value)
	}
	p.steered(field, t)
}

func (p *problems) remote(field string, t recipe.Transport) {
	p.secret(field+".url", t.URL)
	for _, h := range t.Headers {
		p.secret(field+".headers."+h.Name, h.Value)
	}
	if t.Auth == nil {
		return
	}
	p.secret(field+".auth.token", t.Auth.Token)
	p.secret(field+".auth.clientSecret", t.Auth.ClientSecret)
	if token := t.Auth.Token; token != "" && !strings.Contains(token, "${") {
		p.add(field+".auth.token", CodeSecret, "must be a variable such as ${TOKEN}: a recipe is public")
	}
	if secret := t.Auth.ClientSecret; secret != "" && !strings.Contains(secret, "${") {
		p.add(field+".auth.clientSecret", CodeSecret, "must be a variable such as ${CLIENT_SECRET}: a recipe is public")
	}
	for _, h := range t.Auth.Headers {
		p.secret(field+".auth.headers."+h.Name, h.Value)
		if !strings.Contains(h.Value, "${") {
			p.add(field+".auth.headers."+h.Name, CodeSecret, "must hold a variable such as ${TOKEN}: a recipe is public")
		}
	}
}

// secret refuses a text that looks like a credential. The message does not
// repeat it.
func (p *problems) secret(field, text string) {
	if credential.MatchString(text) || bearer.MatchString(text) {
		p.add(field, CodeSecret, "looks like a credential: a recipe is public, so a variable such as ${TOKEN} belongs there")
	}
}
