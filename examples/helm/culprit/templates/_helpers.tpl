{{- define "culprit.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "culprit.labels" -}}
app.kubernetes.io/name: culprit
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "culprit.selector" -}}
app.kubernetes.io/name: culprit
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "culprit.secret" -}}
{{- .Values.existingSecret | default (printf "%s-secrets" (include "culprit.name" .)) -}}
{{- end -}}

{{/* Security of a pod: the user of the image, no token of the API server. */}}
{{- define "culprit.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A container: image, settings, read-only root file system. */}}
{{- define "culprit.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - configMapRef: {name: {{ include "culprit.name" . }}-settings}
  - secretRef: {name: {{ include "culprit.secret" . }}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: home, mountPath: /var/lib/culprit}
  - {name: tmp, mountPath: /tmp}
{{- end -}}

{{- define "culprit.volumes" -}}
- name: home
  emptyDir: {sizeLimit: {{ .Values.home.sizeLimit }}}
- name: tmp
  emptyDir: {sizeLimit: {{ .Values.tmp.sizeLimit }}}
{{- end -}}
