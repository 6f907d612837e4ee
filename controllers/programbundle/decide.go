// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

const (
	// firstPause is that after the first failure. Each further one is four times as long, up
	// to lastPause.
	firstPause = time.Minute
	lastPause  = 6 * time.Hour
	// turnPause is when a bundle is looked at again that waits for other installs.
	turnPause = 5 * time.Second
	// maxScripts and maxPrograms are what the API takes.
	maxScripts  = 16
	maxPrograms = 64
	// maxMessage is how much of a failed Job's text a message has, in bytes.
	maxMessage = 1024
)

// observed is what decisions depend on.
type observed struct {
	// bridges is how many HostedBridges have a server of the package.
	bridges int
	// others is how many Jobs of other packages run.
	others int
	// job is that of the current step and attempt, nil for none, and pods are its pods.
	job  *batchv1.Job
	pods []corev1.Pod
}

// decision is what to do about a bundle.
type decision struct {
	// remove deletes it, and job is the Job to create, nil for none.
	remove bool
	job    *batchv1.Job
	status v1alpha1.ProgramBundleStatus
	// again is when to decide again although nothing changed; zero means never.
	again time.Duration
}

func decide(b *v1alpha1.ProgramBundle, o observed, s Settings, now time.Time) decision {
	d := decision{status: *b.Status.DeepCopy()}
	d.use(o.bridges, s.Retention, now)
	if s.Repository == "" {
		d.status.Reference = ""
		meta.RemoveStatusCondition(&d.status.Conditions, v1alpha1.ConditionInRegistry)
	}
	step := stepOf(b, s)
	switch {
	case d.remove:
	case refused(b):
		d.status.Reference = "" // What comes next uploads it again.
		d.inRegistry(b, v1alpha1.ReasonRefused, "a node could not mount "+b.Status.Reference+": it is uploaded again, and programs are started from the store's files for an hour", now)
	case step == nil:
	case o.job == nil:
		d.begin(b, step, o, s, now)
	case !ended(o.job):
		step.progress(&d, b, "by Job "+o.job.Name+waits(o.pods), now)
	default:
		step.end(&d, b, s, outcome(o.job, o.pods), now)
		d.status.Image = cmp.Or(d.status.Image, installedIn(o.job, d.status))
	}
	d.status.ObservedGeneration = b.Generation
	ready := meta.FindStatusCondition(d.status.Conditions, v1alpha1.ConditionReady)
	v1alpha1.NoteKstatus(&d.status.Conditions, unready(ready), ready)
	return d
}

// unready returns how kstatus names a bundle that is not Ready. One whose install failed is
// stalled until the next attempt begins.
func unready(ready *metav1.Condition) string {
	switch {
	case ready == nil || ready.Status == metav1.ConditionTrue:
		return ""
	case ready.Reason == v1alpha1.ReasonInstalling:
		return v1alpha1.ConditionReconciling
	}
	return v1alpha1.ConditionStalled
}

// begin creates the Job of the next attempt, unless it is to wait.
func (d *decision) begin(b *v1alpha1.ProgramBundle, step *step, o observed, s Settings, now time.Time) {
	switch {
	case b.Status.RetryTime != nil && b.Status.RetryTime.After(now):
		d.in(b.Status.RetryTime.Sub(now)) // The condition says why it failed.
	case o.bridges == 0:
		step.progress(d, b, "when a HostedBridge has a server of the package", now)
	case o.others >= s.MaxJobs:
		step.progress(d, b, "when others have ended", now)
		d.in(turnPause)
	default:
		d.job = step.job(b, s.Installing)
		step.progress(d, b, "by Job "+d.job.Name, now)
	}
}

// use notes how many use the bundle, and since when nobody does.
func (d *decision) use(bridges int, retention time.Duration, now time.Time) {
	d.status.Bridges = int32(min(bridges, 1<<30)) //nolint:gosec // It is bounded.
	if bridges > 0 {
		d.status.UnusedSince = nil
		return
	}
	if d.status.UnusedSince == nil || d.status.UnusedSince.After(now) {
		d.status.UnusedSince = new(metav1.NewTime(now.Truncate(time.Second)))
	}
	left := d.status.UnusedSince.Add(retention).Sub(now)
	d.remove = left <= 0
	d.in(left)
}

// in has the bundle looked at again after a time at the latest.
func (d *decision) in(wait time.Duration) {
	if d.again == 0 || wait < d.again {
		d.again = max(wait, time.Millisecond)
	}
}

// say sets a condition.
func (d *decision) say(b *v1alpha1.ProgramBundle, c metav1.Condition, now time.Time) {
	c.ObservedGeneration, c.LastTransitionTime = b.Generation, metav1.NewTime(now.Truncate(time.Second))
	meta.SetStatusCondition(&d.status.Conditions, c)
}

// retry has what failed tried again after a pause that grows.
func (d *decision) retry(now time.Time) {
	d.status.Attempts++
	pause := firstPause
	for range d.status.Attempts - 1 {
		pause = min(pause*4, lastPause)
	}
	d.status.RetryTime = new(metav1.NewTime(now.Add(pause).Truncate(time.Second)))
	d.in(pause)
}

// made notes what was installed, or found in the registry.
func (d *decision) made(b *v1alpha1.ProgramBundle, o bundle.Outcome, now time.Time) {
	d.status.Attempts, d.status.RetryTime = 0, nil
	d.status.Digest, d.status.Bytes = string(o.Digest), o.Size
	d.status.Size = resource.NewQuantity(roundUp(o.Size), resource.BinarySI).String()
	d.status.Packages = int32(min(o.Packages, 1<<30)) //nolint:gosec // It is bounded.
	d.status.Scripts = o.Scripts[:min(len(o.Scripts), maxScripts)]
	d.status.Program = o.Bin
	for _, name := range slices.Sorted(maps.Keys(o.Bins)) {
		if len(d.status.Programs) < maxPrograms {
			d.status.Programs = append(d.status.Programs, v1alpha1.BundledProgram{Name: name, Path: o.Bins[name]})
		}
	}
	message := fmt.Sprintf("%d packages, %s", d.status.Packages, d.status.Size)
	if len(o.Scripts) > 0 && !b.Spec.InstallScripts {
		message += "; install scripts that did not run: " + strings.Join(d.status.Scripts, ", ")
	}
	d.say(b, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, Message: message}, now)
}

// roundUp returns the size in whole mebibytes.
func roundUp(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 << 20 }

// ended reports whether a Job has succeeded or failed.
func ended(job *batchv1.Job) bool { return endOf(job) != nil }

func endOf(job *batchv1.Job) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}

// outcome returns what the packer of a Job that has ended wrote last.
func outcome(job *batchv1.Job, pods []corev1.Pod) bundle.Outcome {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	said := ""
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if c.Name != bridgeobjects.PackContainer || c.State.Terminated == nil {
				continue
			}
			if o, err := bundle.DecodeOutcome([]byte(c.State.Terminated.Message)); err == nil {
				return o
			}
			said = cmp.Or(said, c.State.Terminated.Message)
		}
	}
	why := ""
	if end := endOf(job); end != nil {
		why = end.Message
	}
	message := fmt.Sprintf("Job %s ended without a result: %s", job.Name, cmp.Or(strings.TrimSpace(said), why, "it says no cause"))
	return bundle.Outcome{Code: v1alpha1.ReasonInstallFailed, Message: strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")}
}

// installedIn returns the image in which a Job installed the package, empty if it failed.
func installedIn(job *batchv1.Job, s v1alpha1.ProgramBundleStatus) string {
	if init := job.Spec.Template.Spec.InitContainers; s.Digest != "" && len(init) > 0 {
		return init[0].Image
	}
	return ""
}

// waits says what keeps the pod of a Job from running. It begins with a semicolon, and is empty
// if nothing is known to.
func waits(pods []corev1.Pod) string {
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return "; it is not scheduled: " + c.Message
			}
		}
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
				return "; container " + c.Name + " waits: " + w.Reason
			}
		}
	}
	return ""
}
