// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var (
	// exact matches one version, as an installer writes it, and no range: npm
	// reads 1.2 as any 1.2.x, and a git branch may move.
	exact = map[string]*regexp.Regexp{
		"npx": semver, "npm": semver,
		"uvx": pep440, "pip": pep440,
		"go":     regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`),
		"binary": regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]+)?$`),
		"git":    regexp.MustCompile(`^([0-9a-f]{40}|v?[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]+)?)$`),
	}
	semver = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)
	pep440 = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?$`)
	// exactImage matches an image with a tag that is a version, or a digest.
	exactImage = regexp.MustCompile(`^[^@\s]+(@sha256:[0-9a-f]{64}|:v?[0-9][0-9A-Za-z._-]*(@sha256:[0-9a-f]{64})?)$`)

	// shells run any command that they are given.
	shells = []string{"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "env", "eval", "sudo", "xargs"}

	// credential matches keys in the form of the large services, a bearer
	// token, and our own keys.
	credential = regexp.MustCompile(`\b(gh[opsur]_[0-9A-Za-z]{20,}|github_pat_[0-9A-Za-z_]{20,}|glpat-[0-9A-Za-z_-]{16,}|sk-[0-9A-Za-z_-]{20,}|xox[abprs]-[0-9A-Za-z-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hb_[0-9A-Za-z]{8,32}_[0-9A-Za-z]{16,}|pub_[0-9A-Za-z]{8,32}_[0-9A-Za-z]{16,}|eyJ[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{8,}\.)`)
	bearer     = regexp.MustCompile(`(?i)^\s*(bearer|basic|token)\s+[^\s$]{8,}$`)
)

// checkPinned refuses references that may resolve to another program tomorrow,
// and commands that run another program than the checked one in install.
func (p *collector) checkPinned(r recipe.Recipe) {
	i := r.Install
	if i == nil {
		return
	}
	p.checkInstall(*i)
	systems := slices.Sorted(maps.Keys(i.Platforms))
	for n, t := range r.Transports {
		if t.Type == recipe.Stdio {
			p.checkProgram(fmt.Sprintf("transports[%d]", n), *i, t)
			p.checkPlatforms(systems, *i, t)
		}
	}
}

// checkInstall refuses an install that does not name one package in one version.
func (p *collector) checkInstall(i recipe.Install) {
	if i.Method == "docker" {
		if i.Image != "" && !exactImage.MatchString(i.Image) {
			p.add("install.image", catalog.CodeUnpinned, "must end in a tag that is a version, or in a digest")
		}
	} else if pattern, known := exact[i.Method]; known && !pattern.MatchString(i.Version) {
		p.add("install.version", catalog.CodeUnpinned, "must be one version, such as 1.2.3, and with git a tag or a commit's 40 digits")
	}
	if pattern, known := registered[i.Method]; known && i.Package != "" && !pattern.MatchString(i.Package) {
		p.add("install.package", catalog.CodeUnpinned, "must be the name of a package in the registry of %s, and nothing else", i.Method)
	}
}

// checkSafe refuses commands beside the server's own, credentials, and remote
// servers that an attacker on the network could replace.
func (p *collector) checkSafe(r recipe.Recipe) {
	p.checkControlCharacters(r)
	for _, use := range recipe.Undeclared(r) {
		p.add(use.Name, catalog.CodeInvalid, "uses %.64s, which auth.envVars does not name", use.Value)
	}
	if i := r.Install; i != nil {
		p.checkStorage(*i)
		if len(i.PreInstall) > 0 {
			p.add("install.preInstall", catalog.CodeHook, "the catalog takes no commands that an installer would run")
		}
		if len(i.PostInstall) > 0 {
			p.add("install.postInstall", catalog.CodeHook, "the catalog takes no commands that an installer would run")
		}
		for _, name := range slices.Sorted(maps.Keys(i.Platforms)) {
			platform := i.Platforms[name]
			p.checkCommand("install.platforms."+name, recipe.Transport{Command: platform.Command, Args: platform.Args, Env: platform.Env})
		}
		for n, file := range i.ConfigFiles {
			p.checkNoCredential(fmt.Sprintf("install.configFiles[%d].content", n), file.Content)
		}
	}
	for n, t := range r.Transports {
		field := fmt.Sprintf("transports[%d]", n)
		p.checkCommand(field, t)
		if !r.Metadata.SelfHosted {
			p.checkTLS(field, t)
		}
		p.checkRemote(field, t)
	}
}

// checkTLS refuses plain HTTP to the server, and to the authorization server,
// which issues its tokens and receives credentials.
func (p *collector) checkTLS(field string, t recipe.Transport) {
	refuse := func(field, url string) {
		scheme, _, _ := strings.Cut(url, "://")
		switch {
		case url == "", strings.EqualFold(scheme, "https"):
		case strings.EqualFold(scheme, "http"):
			p.add(field, catalog.CodePlainHTTP, "must begin with https://, unless metadata.selfHosted says that it is a server of the user's own")
		default:
			p.add(field, catalog.CodeInvalid, "must begin with https://")
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

// isShell reports whether a command runs any command that it is given, or is a
// shell's command line itself.
func isShell(command string) bool {
	return slices.Contains(shells, programOf(command)) || strings.ContainsAny(command, " ;|&`\n")
}

// programOf returns a command without its folders.
func programOf(command string) string {
	return strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
}

// checkCommand refuses shells, and credentials in a program's command line and
// environment.
func (p *collector) checkCommand(field string, t recipe.Transport) {
	command := programOf(t.Command)
	if isShell(t.Command) {
		p.add(field+".command", catalog.CodeShell, "must be the program itself and no shell: give its arguments in args")
	}
	if command == "npx" || command == "npx.cmd" {
		if slices.ContainsFunc(t.Args, func(a string) bool { return a == "-c" || strings.HasPrefix(a, "--call") }) {
			p.add(field+".args", catalog.CodeShell, "must not have npx run a line of a shell")
		}
	}
	for n, arg := range t.Args {
		p.checkNoCredential(fmt.Sprintf("%s.args[%d]", field, n), arg)
	}
	for _, e := range t.Env {
		p.checkNoCredential(field+".env."+e.Name, e.Value)
	}
	p.checkEnvironment(field, t)
}

// checkStorage refuses variables of a volume's paths that decide what runs.
func (p *collector) checkStorage(i recipe.Install) {
	if i.Storage == nil {
		return
	}
	for _, path := range i.Storage.Paths {
		if steering.MatchString(path.Name) || proxy.MatchString(path.Name) {
			p.add("install.storage.paths."+path.Name, catalog.CodeDrift, "decides where packages come from, or what runs beside them: install alone may say that")
		}
	}
}

func (p *collector) checkRemote(field string, t recipe.Transport) {
	p.checkNoCredential(field+".url", t.URL)
	for _, h := range t.Headers {
		p.checkNoCredential(field+".headers."+h.Name, h.Value)
	}
	if t.Auth == nil {
		return
	}
	p.checkNoCredential(field+".auth.token", t.Auth.Token)
	p.checkNoCredential(field+".auth.clientSecret", t.Auth.ClientSecret)
	if token := t.Auth.Token; token != "" && !strings.Contains(token, "${") {
		p.add(field+".auth.token", catalog.CodeSecret, "must be a variable such as ${TOKEN}: a recipe is public")
	}
	if secret := t.Auth.ClientSecret; secret != "" && !strings.Contains(secret, "${") {
		p.add(field+".auth.clientSecret", catalog.CodeSecret, "must be a variable such as ${CLIENT_SECRET}: a recipe is public")
	}
	for _, h := range t.Auth.Headers {
		p.checkNoCredential(field+".auth.headers."+h.Name, h.Value)
		if !strings.Contains(h.Value, "${") {
			p.add(field+".auth.headers."+h.Name, catalog.CodeSecret, "must hold a variable such as ${TOKEN}: a recipe is public")
		}
	}
}

// checkNoCredential refuses a text that looks like a credential. The message does not
// repeat it.
func (p *collector) checkNoCredential(field, text string) {
	if credential.MatchString(text) || bearer.MatchString(text) {
		p.add(field, catalog.CodeSecret, "looks like a credential: a recipe is public, so a variable such as ${TOKEN} belongs there")
	}
}
