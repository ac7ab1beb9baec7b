"""The held-back pool: the same kinds as in ``digest_phrases``, said by other people about other things.

Frozen before the digest was tuned. Nothing here may be looked at, or scored line by line, while it is.
"""

from __future__ import annotations

from typing import Final

HELD_BACK: Final = {
    "en": """
rule: {p} holds real money, so no *test transfers* there, ever.
rule: The one thing I will not forgive is a *truncate* on {p}.
rule: Anything that touches *payroll* goes through Hannah first.
rule: Don't you dare *rebase* {p}.
rule: Treat everything in *{p}* as frozen until the audit is over.
rule: It is not allowed to store *passport scans* in {p}.
rule: Leave the *firewall* of {p} alone, please.
fact: Our {n} happens to be {v}.
fact: {v} - that is the {n}, in case you wonder.
fact: According to the wiki the {n} equals {v}.
fact: My colleague mentioned a {n} of {v}.
fact: As of this morning we are talking about {v} for the {n}.
fact: {n} -> {v}
fact: The last column in the sheet ({n}) reads {v}.
decision: I'm opting for {a}; {b} would need a second server.
decision: Verdict: {a}. The reason is that {b} has no Windows build.
decision: We will build this on {a} rather than {b} since the docs are better.
decision: {b} is out, {a} is in.
decision: Having slept on it, {a} feels right to me given the support contract.
task: Still missing: the *load test* against {p}.
task: Nobody has *updated the price sheet* so far.
task: Don't forget to *invite the auditors*.
task: Next week we need to *split the {p} module* too.
task: The *licence headers* have yet to be added.
preference: I'd rather have *one long table* than many small ones.
preference: Dates in *ISO order*, if you can.
preference: I don't enjoy *emoji* in summaries.
preference: My taste runs to *window rooms* on high floors.
old: We have {v} as our {n}.
old: Let the {n} be {v}.
old: Please prepare everything for a {n} of {v} and send me a preview.
old: At the moment the {n} sits at {v}.
new: Forget {o}, the {n} is going to be {v}.
new: The {n} got bumped to {v}.
new: Change of plan: {n} {v}.
new: I gave you {o} as {n}, that was wrong, {v} is correct.
new: As of today the {n} reads {v}.
new: Replace {o} with {v} as {n}.
noun: gateway port|port
noun: worker count|number
noun: archive directory|path
noun: schema revision|version
noun: change request|ticket
noun: attachment limit|size
noun: cache server|host
noun: flight budget|money
noun: account manager|person
noun: startup warning|error
wrap: Great stuff. {x} I'll be in a call until three.
wrap: While the build is running, one more note from me. {x}
wrap: Here is where I stand:\\n1. first half reviewed\\n2. {x}\\n3. rest tomorrow
wrap: I showed it to Ben and he likes it. {x} Anything else you need from my side?
user: Fine by me, keep going.
user: What does that number in the middle mean?
user: Mind running it a second time?
user: Cool. And the others?
user: Just walked the dog, anything new?
say: I'll open the following chunk and compare it with the earlier one.
say: Everything came back as anticipated, no surprises there.
say: Now inspecting the callers of this function.
say: Noted.
user: Somebody in the corridor asked about {q} and its {d} open rows, no idea why.
user: {f} made me laugh, who wrote that comment in line {d}?
user: While waiting I counted {d} tabs in my browser. Anyway, next one please.
say: Went over {q} end to end; {d} records match and the remainder is trivial.
say: In {f} around line {d} there is a helper that two others call.
say: {q} answered after {d} ms, in line with the rest.
""",
    "de": """
rule: Finger weg vom *Neustart* auf {p}.
rule: *Löschungen* in {p} sind nicht erlaubt.
rule: Ohne mein Okay verlässt kein *Vertragsentwurf* das Haus.
rule: {p} wird nicht *rebased*, Punkt.
fact: Bei uns beträgt {n} {v}.
fact: {v} steht in der Tabelle unter {n}.
fact: {n} -> {v}
decision: Die Wahl fiel auf {a}, denn {b} braucht zwei Server.
decision: Wir setzen auf {a}, {b} ist raus.
decision: Ergebnis der Runde: {a}, vor allem wegen der Doku.
task: Es fehlt noch der *Lasttest*.
task: Denk bitte an die *Einladung der Prüfer*.
task: Die *Preisliste* hat bisher niemand aktualisiert.
preference: Mir ist *eine lange Tabelle* lieber als viele kleine.
preference: Datumsangaben bitte im *ISO-Format*.
preference: *Emojis* mag ich in Berichten nicht.
old: Momentan haben wir {v} als {n}.
old: Bereite alles mit {v} als {n} vor.
new: Vergiss {o}, {n} wird {v}.
new: Planänderung: {n} {v}.
new: Ersetze {o} durch {v} ({n}).
new: Seit heute gilt für {n} {v}.
noun: Gatewayport|port
noun: Archivpfad|path
noun: Arbeiterzahl|number
noun: Schemastand|version
noun: Änderungsantrag|ticket
noun: Flugbudget|money
wrap: Super. {x} Ich bin bis drei im Termin.
wrap: Noch eine Notiz, solange der Lauf dauert. {x}
user: Passt für mich.
user: Was bedeutet die Zahl in der Mitte?
user: Kannst du es noch einmal laufen lassen?
say: Ich öffne das folgende Stück und vergleiche es.
say: Alles kam zurück wie gedacht.
say: Notiert.
user: Auf dem Flur fragte jemand nach {q} und den {d} Zeilen, keine Ahnung warum.
user: Über den Kommentar in {f} musste ich lachen, wer war das?
say: In {q} stimmen {d} Datensätze überein, der Rest ist trivial.
say: In {f} um Zeile {d} steht eine Hilfsfunktion.
""",
    "fr": """
rule: Interdiction de *redémarrer* {p}.
rule: On ne *supprime* rien dans {p}, point.
rule: Sans mon accord, aucun *contrat* ne sort.
fact: Chez nous {n} vaut {v}.
fact: {v}, c'est {n} d'après le wiki.
fact: {n} -> {v}
decision: J'opte pour {a}, car {b} demande deux serveurs.
decision: {b} est écarté, on bâtit sur {a}.
decision: Verdict : {a}, surtout pour la documentation.
task: Il manque encore le *test de charge*.
task: N'oublie pas d'*inviter les auditeurs*.
task: Personne n'a *mis à jour les tarifs*.
preference: J'aime mieux *un seul grand tableau*.
preference: Les dates au *format ISO*, si possible.
preference: Épargne-moi les *émojis* dans les résumés.
old: Pour le moment {n} est à {v}.
old: Prépare tout avec {v} comme {n}.
new: Oublie {o}, {n} sera {v}.
new: Changement de plan : {n} {v}.
new: Remplace {o} par {v} pour {n}.
noun: le port de la passerelle|port
noun: le chemin d'archive|path
noun: le nombre de workers|number
noun: la révision du schéma|version
noun: la demande de changement|ticket
noun: le budget avion|money
wrap: Super. {x} Je suis en réunion jusqu'à trois heures.
wrap: Encore une note pendant que ça tourne. {x}
user: Ça me va.
user: Que veut dire le nombre du milieu ?
say: J'ouvre le morceau suivant pour comparer.
say: Noté.
user: Quelqu'un m'a parlé de {q} et de ses {d} lignes dans le couloir, va savoir.
user: Le commentaire dans {f} m'a fait rire, c'est de qui ?
say: Dans {q}, {d} enregistrements concordent, le reste est trivial.
say: Dans {f}, vers la ligne {d}, il y a une fonction auxiliaire.
""",
    "es": """
rule: Ni se te ocurra *reiniciar* {p}.
rule: No está permitido *borrar* nada en {p}.
rule: Sin mi visto bueno no sale ningún *contrato*.
fact: En nuestro caso {n} vale {v}.
fact: {v}, eso es {n} según la wiki.
fact: {n} -> {v}
decision: Opto por {a}, ya que {b} pide dos servidores.
decision: {b} queda fuera, construimos sobre {a}.
decision: Veredicto: {a}, sobre todo por la documentación.
task: Aún no está la *prueba de carga*.
task: No olvides *invitar a los auditores*.
task: Nadie ha *actualizado la lista de precios*.
preference: Me gusta más *una sola tabla larga*.
preference: Las fechas en *formato ISO*, si puedes.
preference: En los resúmenes los *emojis* me sobran.
old: De momento {n} está en {v}.
old: Prepara todo con {v} como {n}.
new: Olvida {o}, {n} será {v}.
new: Cambio de planes: {n} {v}.
new: Reemplaza {o} por {v} en {n}.
noun: el puerto de la pasarela|port
noun: la ruta de archivo|path
noun: el número de workers|number
noun: la revisión del esquema|version
noun: la solicitud de cambio|ticket
noun: el presupuesto de vuelo|money
wrap: Genial. {x} Estoy en una llamada hasta las tres.
wrap: Otra nota mientras corre. {x}
user: Por mí, bien.
user: ¿Qué significa el número del medio?
say: Abro el siguiente trozo para comparar.
say: Anotado.
user: Alguien en el pasillo preguntó por {q} y sus {d} filas, ni idea.
user: El comentario en {f} me hizo reír, ¿de quién es?
say: En {q} coinciden {d} registros, el resto es trivial.
say: En {f}, cerca de la línea {d}, hay una función auxiliar.
""",
    "zh": """
rule: 谁都不许*重启*{p}。
rule: {p}里的东西一条都不准*删除*。
rule: 没有我同意，*合同*不能发出去。
fact: 我们这边{n}等于{v}。
fact: 维基上写的{n}就是{v}。
fact: {n}→{v}
decision: 最后拍板{a}，{b}要两台服务器。
decision: {b}淘汰，改在{a}上做。
decision: 结论：{a}，主要是文档好。
task: *压力测试*还差着呢。
task: 别忘了*邀请审计员*。
task: *价目表*到现在没人更新。
preference: 我宁愿看*一张大表*。
preference: 日期写成*年月日*的格式。
preference: 总结里的*表情符号*看着烦。
old: {n}眼下是{v}。
old: 按{v}这个{n}准备好给我预览。
new: 别管{o}了，{n}要用{v}。
new: 计划有变：{n}{v}。
new: 把{o}换成{v}，说的是{n}。
noun: 网关端口|port
noun: 归档路径|path
noun: 线程数量|number
noun: 架构修订号|version
noun: 变更申请|ticket
noun: 机票预算|money
wrap: 太好了。{x}我三点前都在开会。
wrap: 趁它在跑，再补一句。{x}
user: 我这边没意见。
user: 中间那个数字是什么意思？
say: 我打开下一段比较一下。
say: 记下了。
user: 走廊里有人问{q}的{d}行怎么回事，我也不清楚。
user: {f}里那句注释把我逗笑了，谁写的？
say: {q}里{d}条对得上，其余无关紧要。
say: {f}第{d}行附近有个辅助函数。
""",
    "ja": """
rule: {p}の*再起動*は誰であっても許可しません。
rule: {p}のデータは一件も*削除*してはいけません。
rule: 私の了承なしに*契約書*を外へ出さないこと。
fact: こちらの{n}は{v}になっています。
fact: Wikiには{n}＝{v}とあります。
fact: {n}→{v}
decision: {b}はサーバーが二台要るので{a}でいきます。
decision: {b}は却下、{a}の上に作ります。
decision: 結論：{a}。資料が充実しているため。
task: *負荷試験*が抜けています。
task: *監査人の招待*を忘れずに。
task: *価格表*を誰も更新していません。
preference: *大きな表一つ*のほうがうれしい。
preference: 日付は*ISO形式*で書いてほしい。
preference: 要約に*絵文字*があると読みにくいです。
old: 今のところ{n}は{v}です。
old: {n}を{v}として一通り準備して。
new: {o}は忘れて、{n}は{v}になります。
new: 予定変更：{n}{v}。
new: {n}の{o}を{v}に差し替えて。
noun: ゲートウェイのポート|port
noun: 保管先パス|path
noun: ワーカー数|number
noun: スキーマの改訂|version
noun: 変更依頼|ticket
noun: 航空券の予算|money
wrap: すばらしい。{x}三時まで電話に出ています。
wrap: 実行している間にもう一つ。{x}
user: 私は構いません。
user: 真ん中の数字はどういう意味ですか？
say: 次の部分を開いて比べます。
say: 控えました。
user: 廊下で{q}の{d}行について聞かれました、理由は分かりません。
user: {f}のコメントに笑いました、誰が書いたのですか？
say: {q}では{d}件が一致、残りは些細なものです。
say: {f}の{d}行目あたりに補助関数があります。
""",
    "ko": """
rule: {p} *재시작*은 누구도 허용하지 않아요.
rule: {p}의 데이터는 하나도 *삭제*하면 안 됩니다.
rule: 제 동의 없이 *계약서*를 내보내지 말 것.
fact: 우리 쪽 {n}는 {v}로 되어 있어요.
fact: 위키에는 {n} = {v}라고 나와요.
fact: {n} -> {v}
decision: {b}는 서버가 두 대 필요해서 {a}로 갑니다.
decision: {b}는 탈락, {a} 위에 만들어요.
decision: 결론: {a}. 문서가 좋아서요.
task: *부하 테스트*가 빠져 있어요.
task: *감사관 초대* 잊지 마세요.
task: *가격표*는 아무도 안 고쳤네요.
preference: *큰 표 하나*가 더 낫더라고요.
preference: 날짜는 *ISO 형식*으로 부탁해요.
preference: 요약에 *이모지*가 있으면 산만해요.
old: 지금은 {n}가 {v}예요.
old: {n} {v} 기준으로 전부 준비해 줘.
new: {o}는 잊고 {n}는 {v}로 해요.
new: 계획 변경: {n} {v}.
new: {n} {o} 대신 {v}로 바꿔 줘.
noun: 게이트웨이 포트|port
noun: 보관 경로|path
noun: 작업자 수|number
noun: 스키마 개정|version
noun: 변경 요청|ticket
noun: 항공 예산|money
wrap: 훌륭해요. {x} 세 시까지 통화 중입니다.
wrap: 돌아가는 동안 하나 더 적을게요. {x}
user: 저는 괜찮아요.
user: 가운데 숫자는 무슨 뜻이에요?
say: 다음 부분을 열어서 비교하겠습니다.
say: 적어 두었습니다.
user: 복도에서 누가 {q}의 {d}행을 물어보던데 이유는 모르겠네요.
user: {f}의 주석 보고 웃었어요, 누가 썼죠?
say: {q}에서 {d}건이 일치하고 나머지는 사소합니다.
say: {f}의 {d}번째 줄 근처에 보조 함수가 있습니다.
""",
    "ru": """
rule: Даже не думай *перезапускать* {p}.
rule: Из {p} ничего не *удаляем*, точка.
rule: Без моего согласия ни один *договор* не уходит.
fact: У нас {n} равен {v}.
fact: {v} — это {n}, так в вики.
fact: {n} -> {v}
decision: Останавливаюсь на {a}, ведь {b} требует двух серверов.
decision: {b} отпадает, строим на {a}.
decision: Вердикт: {a}, прежде всего из-за документации.
task: Не хватает *нагрузочного теста*.
task: Не забудь *пригласить аудиторов*.
task: *Прайс-лист* так никто и не обновил.
preference: Мне милее *одна длинная таблица*.
preference: Даты в *формате ISO*, если можно.
preference: *Смайлики* в отчётах меня раздражают.
old: Сейчас {n} {v}.
old: Подготовь всё, исходя из {v} ({n}).
new: Забудь {o}, {n} будет {v}.
new: Планы поменялись: {n} {v}.
new: Замени {o} на {v} ({n}).
noun: порт шлюза|port
noun: путь архива|path
noun: число воркеров|number
noun: ревизия схемы|version
noun: запрос изменений|ticket
noun: бюджет перелёта|money
wrap: Отлично. {x} Я на звонке до трёх.
wrap: Пока оно крутится, ещё заметка. {x}
user: Меня устраивает.
user: Что значит число посередине?
say: Открою следующий кусок и сравню.
say: Записал.
user: В коридоре кто-то спросил про {q} и {d} строк, не знаю зачем.
user: Комментарий в {f} меня рассмешил, кто это написал?
say: В {q} совпали {d} записей, остальное мелочи.
say: В {f} около строки {d} есть вспомогательная функция.
""",
}
