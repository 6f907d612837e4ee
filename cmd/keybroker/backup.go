// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/aws/smithy-go/aws-http-auth/credentials"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/backup"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/installation"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

var backupCommand = command{
	summary: "write a backup that is encrypted to an administrator's key",
	usage: `Write a backup of the people, the catalog, the HostedBridges, their sealed secrets
and the ring of the master key: a tar file, encrypted with age. docs/operations/backup.md
says how to restore it. The private key of --recipient stays outside of the cluster:

  age-keygen -o backup-key.txt

Usage: keybroker backup --recipient=age1… > backup.tar.gz.age
       keybroker backup --recipient=age1… --target=FOLDER-OR-URL

With --target, the backup is read back and compared with what was written, and older
ones of the same installation are deleted. The credentials of a bucket are in AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
`,
	prepare: prepareBackup,
}

// backupRequest is what is asked of "backup".
type backupRequest struct {
	recipients []string
	target     string
	region     string
	caFile     string
	ringSecret string
	catalog    string
	keep       time.Duration
	format     string
}

func prepareBackup(o *Options, fs *setting.Set) runner {
	r := &backupRequest{}
	fs.List(&r.recipients, "recipient", "public key of age, age1…, whose private key opens the backup; several may be named", recipient)
	fs.String(&r.target, "target", "", "folder that exists, or URL of a bucket of S3 such as https://s3.eu-central-1.amazonaws.com/bucket/prefix (default: standard output)", target)
	fs.String(&r.region, "region", "us-east-1", "region of the bucket", setting.Required)
	fs.String(&r.caFile, "ca-file", "", "PEM file with authorities of the bucket's certificate, in addition to the system's")
	fs.String(&r.ringSecret, "ring-secret", "hosted-bridge-master-key", "Secret from which the ring is mounted; empty leaves the ring out")
	fs.String(&r.catalog, "catalog-namespace", "", "namespace of the catalog's recipes and publishers (default: the installation's namespace)", setting.Optional(setting.Label))
	fs.Duration(&r.keep, "keep", 30*24*time.Hour, "delete backups at --target that are older than this, but for the newest two, since the salts in them open deleted secrets; 0 keeps all", setting.AtLeast[time.Duration](0))
	fs.OutputFormat(&r.format)
	fs.Check(func() error {
		if len(r.recipients) == 0 {
			return errors.New("--recipient: it is empty; age-keygen makes a pair of keys, of which this is the public one")
		}
		return nil
	})
	fs.Inherit(o.Declare(""), func(name string) bool {
		return slices.Contains([]string{"namespace", "kubeconfig", namespaces.Flag}, name)
	})
	return func(ctx context.Context, s streams) error { return r.run(ctx, o, s) }
}

// recipient checks one key. The error does not quote it: a mistake can make it a private key.
func recipient(value string) error {
	if _, err := age.ParseRecipients(strings.NewReader(value)); err != nil {
		return errors.New("it is no public key of age; give one that begins with age1")
	}
	return nil
}

// target checks a URL. Whether a folder exists is seen when it is opened.
func target(value string) error {
	if !isURL(value) {
		return nil
	}
	_, err := backup.ParseURL(value)
	return err
}

func isURL(target string) bool { return strings.Contains(target, "://") }

// backupReport is what a backup did.
type backupReport struct {
	backup.Kept

	Contents backup.Contents `json:"contents"`
	Removed  []string        `json:"removed"`
}

func (r *backupRequest) run(ctx context.Context, o *Options, s streams) error {
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(r.recipients, "\n")))
	if err != nil {
		return errors.New("--recipient: it is no list of public keys of age")
	}
	reader, err := installation.NewBackupReader(o.installation(), r.ringSecret, r.catalog)
	if err != nil {
		return err
	}
	at := time.Now()
	if r.target == "" {
		_, err := backup.Write(ctx, s.out, reader, at, recipients...)
		return err
	}
	to, closeTarget, err := r.open()
	if err != nil {
		return err
	}
	defer closeTarget()
	id, err := reader.ID(ctx)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	report := &backupReport{Removed: []string{}}
	if report.Contents, err = backup.Write(ctx, &content, reader, at, recipients...); err != nil {
		return err
	}
	if report.Kept, err = backup.Keep(ctx, to, backup.Name(id, at), content.Bytes()); err != nil {
		return err
	}
	var pruned error
	if r.keep > 0 {
		report.Removed, pruned = backup.Prune(ctx, to, report.Name, report.Contents, at.Add(-r.keep))
	}
	return errors.Join(printReport(s.out, r.format, report, func(w io.Writer) { printBackup(w, report) }), pruned)
}

// open returns the target, and what closes it.
func (r *backupRequest) open() (backup.Target, func(), error) {
	if !isURL(r.target) {
		folder, err := backup.OpenFolder(r.target)
		if err != nil {
			return nil, nil, err
		}
		return folder, func() { _ = folder.Close() }, nil
	}
	options := backup.BucketOptions{URL: r.target, Region: r.region, Key: credentials.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
	}}
	if r.caFile != "" {
		var err error
		if options.Authorities, err = os.ReadFile(r.caFile); err != nil {
			return nil, nil, fmt.Errorf("read --ca-file: %w", err)
		}
	}
	bucket, err := backup.NewBucket(options)
	return bucket, func() {}, err
}

func printBackup(w io.Writer, r *backupReport) {
	ring := "without the ring"
	if r.Contents.Ring {
		ring = "with the ring"
	}
	_, _ = fmt.Fprintf(w, "%s: %d bytes, %s, read back\n%d HostedBridges and %d SharedServers, %d with envelopes and %d with a salt, %s\n",
		r.Name, r.Bytes, r.Digest, r.Contents.Bridges, r.Contents.SharedServers, r.Contents.Envelopes, r.Contents.Salts, ring)
	if r.Contents.Bridges == 0 {
		_, _ = fmt.Fprintln(w, "old backups are kept, because this one has no HostedBridges")
	}
	for _, name := range r.Removed {
		_, _ = fmt.Fprintf(w, "removed %s\n", name)
	}
}
