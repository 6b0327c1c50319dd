// A trace whose names try to become code of the page.

/** Sets `window.harmed` if a page takes it for markup. */
export const HOSTILE = `</script><img src=x onerror="window.harmed=1"><svg onload=window.harmed=1>\u202e'&amp;`;

const escaped = HOSTILE.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

/** Returns a trace in the XML format: two calls, an exception and a wait. */
export function hostileTrace() {
  const at = (ns) => `time="1700000000.${String(ns).padStart(9, '0')}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<TRACE>
<node nodeId="node" hostname="host" ipaddress="" timezone="0" ${at(0)}/>
<processCreate processId="process" name="java" pid="1" nodeIdRef="node" ${at(0)}/>
<agentCreate agentId="agent" version="" processIdRef="process" agentName="test" agentType="" agentParameters="" ${at(0)}/>
<traceStart traceId="trace" agentIdRef="agent" ${at(0)}/>
<threadStart threadId="1" ${at(0)} threadName="${escaped}" groupName="${escaped}" parentName="system" objIdRef="0"/>
<classDef name="${escaped}" sourceName="${escaped}" classId="1" ${at(0)}/>
<methodDef name="${escaped}" signature="()V" startLineNumber="1" endLineNumber="2" methodId="1" classIdRef="1"/>
<methodDef name="inner" signature="(L${escaped};)V" startLineNumber="1" endLineNumber="2" methodId="2" classIdRef="1"/>
<methodEntry threadIdRef="1" ${at(1000)} methodIdRef="1" classIdRef="1" ticket="1" stackDepth="1"/>
<methodEntry threadIdRef="1" ${at(2000)} methodIdRef="2" classIdRef="1" ticket="2" stackDepth="2"/>
<methodExit threadIdRef="1" methodIdRef="2" classIdRef="1" ticket="2" ${at(500_000)}/>
<methodExit threadIdRef="1" methodIdRef="1" classIdRef="1" ticket="1" ${at(900_000)}/>
<threadEnd threadIdRef="1" ${at(1_000_000)}/>
<traceEnd traceIdRef="trace" ${at(1_000_000)}/>
<agentDestroy agentIdRef="agent" ${at(1_000_000)}/>
</TRACE>
`;
}
