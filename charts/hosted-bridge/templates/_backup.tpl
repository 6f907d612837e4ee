{{/* Backups: where they go, and what the ingress knows of them. */}}

{{- define "hosted-bridge.backup.used" -}}
{{- if or .Values.backup.existingClaim .Values.backup.s3.url }}true{{ end -}}
{{- end }}

{{- define "hosted-bridge.validate.backup" -}}
{{- with .Values.backup }}
{{- if and .existingClaim .s3.url }}
{{- fail "backup.existingClaim and backup.s3.url are both set: leave one of them out, because backups go to one place" }}
{{- end }}
{{- if and (or .existingClaim .s3.url) (not .recipients) }}
{{- fail "backup has a target and no recipients: set backup.recipients to the public key that age-keygen prints, and keep the private key outside of the cluster" }}
{{- end }}
{{- if and .recipients (not .existingClaim) (not .s3.url) }}
{{- fail "backup.recipients is set, but no target: set backup.existingClaim or backup.s3.url" }}
{{- end }}
{{- if and .s3.url (not .s3.existingSecret) }}
{{- fail "backup.s3.url is set: set backup.s3.existingSecret to a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" }}
{{- end }}
{{- if and (not .s3.url) (or .s3.existingSecret .s3.caConfigMap) }}
{{- fail "backup.s3.existingSecret and backup.s3.caConfigMap need backup.s3.url" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.backup.args" -}}
{{- if include "hosted-bridge.backup.used" . }}
- --backup-cronjob=hosted-bridge-backup
{{- end }}
{{- end }}
