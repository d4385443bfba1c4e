"""Style sheet of a report for screens, light or dark, and for print."""

STYLE = """
:root{--ink:#17181b;--dim:#5f636b;--rule:#d9dbe0;--paper:#fff;--soft:#f4f5f7;--accent:#1a5fb4;--good:#1f7a3d;--bad:#b3261e;
--warn:#8a5a00}
@media(prefers-color-scheme:dark){:root{--ink:#e3e5e8;--dim:#9aa0aa;--rule:#33363d;--paper:#141517;--soft:#1d1f23;
--accent:#7db4ff;--good:#6fcf97;--bad:#ff8a80;--warn:#e0b060}}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink)}
body{max-width:62rem;margin:0 auto;padding:2rem 1.25rem 4rem;overflow-wrap:anywhere;
font:15px/1.6 "Inter","Segoe UI",system-ui,-apple-system,"Noto Sans","PingFang SC","Hiragino Sans GB","Microsoft YaHei",
"Source Han Sans SC","Noto Sans CJK SC","WenQuanYi Micro Hei","Droid Sans Fallback",sans-serif}
code,pre,.num,td.num,.mono{font-family:ui-monospace,"JetBrains Mono","SF Mono","DejaVu Sans Mono",Menlo,Consolas,
"Noto Sans Mono CJK SC","Sarasa Mono SC","WenQuanYi Zen Hei Mono",monospace;font-size:13px;
font-variant-numeric:tabular-nums}
h1{font-size:1.65rem;line-height:1.25;margin:.25rem 0 .5rem}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
p{margin:.4rem 0}.dim{color:var(--dim)}.lead{font-size:1.05rem;white-space:pre-wrap}.prose{white-space:pre-wrap}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:2px}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rule)}
th{font-weight:600;color:var(--dim);font-size:.85rem;white-space:nowrap}
td.num,th.num{text-align:right;white-space:nowrap}td.mono,td.dim{white-space:nowrap}
ul{padding-left:1.2rem;margin:.3rem 0}li{margin:.2rem 0}
.answer{border-top:2px solid var(--accent)}.answer th{width:6.5rem;white-space:normal}.answer p{margin:0 0 .15rem}
header h2{font-size:1rem;margin:.8rem 0 .2rem;padding:0;border:0}
.tag{font-size:.8rem;border:1px solid var(--rule);border-radius:3px;padding:0 .35rem;white-space:nowrap}
.supports::before{content:"\\25CF\\A0";color:var(--good)}.refutes::before{content:"\\25CB\\A0";color:var(--dim)}
.inconclusive::before{content:"\\25D0\\A0";color:var(--warn)}.not_collected::before{content:"\\25CC\\A0";color:var(--dim)}
.verified,.confirmed{color:var(--good)}.worse,.altered,.gone{color:var(--bad)}.no_effect,.no_conclusion,.likely{color:var(--warn)}
.src{font-size:.75rem;vertical-align:super;margin-left:.1rem}
pre{background:var(--soft);padding:.5rem .6rem;margin:.3rem 0;overflow-x:auto;white-space:pre-wrap;line-height:1.45}
pre b{background:color-mix(in srgb,var(--accent) 18%,transparent);font-weight:400}
pre i{color:var(--dim);font-style:normal;user-select:none}
.source{margin:.8rem 0;scroll-margin-top:1rem}.source:target{outline:2px solid var(--accent);outline-offset:4px}
svg{max-width:100%;height:auto;display:block;background:#fff}.chart{background:var(--soft)}
.nodata{background:repeating-linear-gradient(45deg,var(--soft) 0 6px,var(--rule) 6px 7px);padding:.3rem .6rem}
footer{margin-top:3rem;padding-top:.75rem;border-top:1px solid var(--rule);font-size:.85rem;color:var(--dim)}
@page{margin:16mm 14mm}
@media print{:root{--ink:#000;--dim:#444;--rule:#bbb;--paper:#fff;--soft:#f4f4f4;--accent:#000}
body{max-width:none;padding:0;font-size:10.5pt}h2{break-after:avoid}h3{break-after:avoid}
.source,table,svg,li{break-inside:avoid}a{text-decoration:none}pre{white-space:pre-wrap}}
"""
