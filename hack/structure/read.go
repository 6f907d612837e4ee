// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// folders are those that hold the product. Tools and test support are not held
// to the limits.
var folders = []string{"api", "cmd", "controllers", "internal"}

// module is what was read of a Go module. Packages are named by their folder,
// relative to the module's root and with slashes.
type module struct {
	path     string
	lines    map[string]int             // by package
	types    map[typeName]*typeSize     // all that have fields or methods
	imports  map[string]map[string]bool // package to the packages of the module that it imports
	names    int                        // functions and methods
	oneWord  int                        // those whose name is a single word
	codeSize int                        // lines without comments and blank ones
	sleeps   []string                   // where tests sleep, as file and line
}

type typeName struct{ pkg, name string }

func (t typeName) String() string { return t.pkg + "." + t.name }

type typeSize struct {
	methods, fields int
	// document says that each field has a name in JSON or YAML: the fields are those of a
	// document, and not of a program.
	document bool
}

// readModule reads the module in the folder root.
func readModule(root string) (*module, error) {
	modulePath, err := readModulePath(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := &module{path: modulePath, lines: map[string]int{}, types: map[typeName]*typeSize{}, imports: map[string]map[string]bool{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fs.SkipAll
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			return m.addFile(root, file)
		})
		if err != nil {
			return nil, err
		}
	}
	return m, m.addSleeps(root)
}

func readModulePath(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s names no module", file)
}

func (m *module) addFile(root, file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	folder, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return err
	}
	pkg := filepath.ToSlash(folder)
	m.lines[pkg] += bytes.Count(source, []byte("\n"))
	m.codeSize += countCode(set, parsed, source)
	m.addImports(pkg, parsed.Imports)
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			m.addFunction(pkg, d)
		case *ast.GenDecl:
			m.addTypes(pkg, d)
		}
	}
	return nil
}

// countCode counts the lines that hold more than a comment.
func countCode(set *token.FileSet, file *ast.File, source []byte) int {
	code := bytes.Clone(source)
	for _, group := range file.Comments {
		for _, comment := range group.List {
			for i := set.Position(comment.Pos()).Offset; i < set.Position(comment.End()).Offset; i++ {
				if code[i] != '\n' {
					code[i] = ' '
				}
			}
		}
	}
	count := 0
	for line := range bytes.Lines(code) {
		if len(bytes.TrimSpace(line)) > 0 {
			count++
		}
	}
	return count
}

func (m *module) addImports(pkg string, specs []*ast.ImportSpec) {
	if m.imports[pkg] == nil {
		m.imports[pkg] = map[string]bool{}
	}
	for _, spec := range specs {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // The parser has accepted it.
		}
		if imported, ok := strings.CutPrefix(name, m.path+"/"); ok {
			m.imports[pkg][imported] = true
		}
	}
}

func (m *module) addFunction(pkg string, f *ast.FuncDecl) {
	if f.Recv != nil {
		m.sizeOf(pkg, receiverName(f.Recv.List[0].Type)).methods++
	}
	if f.Name.Name != "main" && f.Name.Name != "init" {
		m.names++
		if isOneWord(f.Name.Name) {
			m.oneWord++
		}
	}
}

// isOneWord reports whether a name in camel case has no second word. Initialisms
// such as URL are one word.
func isOneWord(name string) bool {
	letters := []rune(name)
	for i := 1; i < len(letters); i++ {
		if unicode.IsUpper(letters[i]) && unicode.IsLower(letters[i-1]) {
			return false
		}
		if i > 1 && unicode.IsLower(letters[i]) && unicode.IsUpper(letters[i-1]) && unicode.IsUpper(letters[i-2]) {
			return false
		}
	}
	return true
}

func receiverName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	default:
		return "?"
	}
}

// documentTag is that of a field of a document.
var documentTag = regexp.MustCompile(`\b(json|yaml):"`)

func (m *module) addTypes(pkg string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		structure, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		size := m.sizeOf(pkg, t.Name.Name)
		size.document = len(structure.Fields.List) > 0
		for _, field := range structure.Fields.List {
			size.fields += max(len(field.Names), 1) // An embedded one has no name.
			size.document = size.document && field.Tag != nil && documentTag.MatchString(field.Tag.Value)
		}
	}
}

func (m *module) sizeOf(pkg, name string) *typeSize {
	key := typeName{pkg, name}
	if m.types[key] == nil {
		m.types[key] = &typeSize{}
	}
	return m.types[key]
}
